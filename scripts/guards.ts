/**
 * Removes each guard of sql/moves, one at a time, and demands that the tests named for it in guards.json go red: a test
 * that stays green does not test its guard. `npm run guards` does all of them, `npm run guards -- claim.turn …` some.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../src/package-root.js'
import { type Guard, readGuards } from '../test/harness/guard-removal.js'

const atOnce = 2
const testMsMax = 8_000

type Verdict = 'red' | 'green' | 'not run' | 'broken'

interface Told {
  readonly verdict: Verdict
  /** The first line of what failed. */
  readonly why: string
}

interface TestRun {
  /** By `file > describe > test`, as guards.json names them. */
  readonly told: ReadonlyMap<string, Told>
  /** What the run printed, for one that never got as far as its tests. */
  readonly output: string
}

interface JsonReport {
  readonly testResults: readonly {
    readonly name: string
    /** Why a file could not be run at all. */
    readonly message: string
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: string
      readonly failureMessages: readonly string[] | null
    }[]
  }[]
}

const children = new Set<ChildProcess>()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of children) child.kill(signal)
    process.exitCode = 1
  })
}

/** What the naïve SQL says when it is not naïve but wrong: red for no good reason. */
const wrongSql = /does not exist|syntax error|is ambiguous|cannot cast|FP_SCHEMA_MISSING|column reference/

async function runTests(tests: readonly string[], guardOff: string | undefined): Promise<TestRun> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-guards-'))
  const report = join(directory, 'report.json')
  try {
    const files = [...new Set(tests.map((test) => test.split(' > ')[0] as string))]
    const names = tests.map((test) => escaped(test.split(' > ').slice(1).join(' ')))
    const output = await vitest(
      [
        'run',
        '--project=pg18',
        '--maxWorkers=1',
        `--testTimeout=${testMsMax}`,
        '--reporter=json',
        `--outputFile=${report}`,
        `--testNamePattern=(^| )(${names.join('|')})$`,
        ...files,
      ],
      guardOff,
    )
    const text = await readFile(report, 'utf8').catch(() => undefined)
    if (text === undefined) return { told: new Map(), output }
    const { testResults } = JSON.parse(text) as JsonReport
    const messages = testResults.map(({ message }) => message)
    return { told: toldBy(testResults), output: [output, ...messages].join('\n') }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function vitest(args: readonly string[], guardOff: string | undefined): Promise<string> {
  const child = spawn(process.execPath, [join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs'), ...args], {
    cwd: packageRoot,
    env: { ...process.env, FENCEPOST_GUARD_OFF: guardOff ?? '', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let output = ''
  child.stdout.on('data', (data: Buffer) => (output += data.toString()))
  child.stderr.on('data', (data: Buffer) => (output += data.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => {
      children.delete(child)
      resolve(output)
    })
  })
}

function toldBy(files: JsonReport['testResults']): Map<string, Told> {
  const told = new Map<string, Told>()
  for (const file of files) {
    const path = file.name.slice(packageRoot.length + 1)
    for (const { ancestorTitles, title, status, failureMessages } of file.assertionResults) {
      const messages = (failureMessages ?? []).join('\n')
      const why = (messages.split('\n', 1)[0] as string).slice(0, 100)
      const name = [path, ...ancestorTitles, title].join(' > ')
      if (status === 'passed') told.set(name, { verdict: 'green', why })
      else if (status !== 'failed') told.set(name, { verdict: 'not run', why })
      else told.set(name, { verdict: wrongSql.test(messages) ? 'broken' : 'red', why })
    }
  }
  return told
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Whether every test of the guard went red without it. */
async function check({ id, tests }: Guard): Promise<boolean> {
  const startedAt = Date.now()
  const { told, output } = await runTests(tests, id)
  const spared = tests.filter((test) => told.get(test)?.verdict !== 'red')
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1)
  if (spared.length === 0) {
    console.log(`red          ${id} (${seconds} s): ${told.get(tests[0] as string)?.why}`)
    return true
  }
  console.log(`STILL GREEN  ${id}`)
  complain(spared, told, output)
  return false
}

function complain(tests: readonly string[], told: ReadonlyMap<string, Told>, output: string): void {
  for (const test of tests) {
    const { verdict, why } = told.get(test) ?? { verdict: 'not found', why: '' }
    console.log(`             ${verdict}: ${test} ${why}`)
  }
  if (told.size === 0) console.log(output.trim().slice(-2_000))
}

/** Nothing follows from a test that is red anyway. */
async function requireGreen(guards: readonly Guard[]): Promise<boolean> {
  const tests = [...new Set(guards.flatMap((guard) => guard.tests))]
  const { told, output } = await runTests(tests, undefined)
  const failed = tests.filter((test) => told.get(test)?.verdict !== 'green')
  if (failed.length === 0) {
    console.log(`green with every guard in place: ${tests.length} tests`)
    return true
  }
  console.log('NOT GREEN with every guard in place:')
  complain(failed, told, output)
  return false
}

async function main(ids: readonly string[]): Promise<boolean> {
  const all = readGuards()
  const unknown = ids.filter((id) => !all.some((guard) => guard.id === id))
  if (unknown.length > 0) {
    console.error(`guards.json has no ${unknown.join(', ')}`)
    return false
  }
  const guards = ids.length > 0 ? all.filter(({ id }) => ids.includes(id)) : all
  if (!(await requireGreen(guards))) return false

  const startedAt = Date.now()
  const queue = [...guards]
  let red = 0
  const worker = async () => {
    for (let guard = queue.shift(); guard && process.exitCode === undefined; guard = queue.shift()) {
      if (await check(guard)) red++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  console.log(`${red} of ${guards.length} guards went red in ${Math.round((Date.now() - startedAt) / 1000)} s`)
  return red === guards.length
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1
