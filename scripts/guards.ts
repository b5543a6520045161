/**
 * Removes each guard of guards.json, one at a time, and demands that the tests named for it there go red: a test that stays
 * green does not test its guard. `npm run guards` does all of them, `npm run guards -- claim.turn …` some, `… src/` those
 * in TypeScript, `… sql/` those in SQL.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../src/package-root.js'
import { type Guard, isSqlGuard, readGuards } from '../test/harness/guard-removal.js'
import { startTestServer } from '../test/harness/test-server.js'

const atOnce = 2
const testMsMax = 15_000

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

/** What the naïve code says when it is not naïve but wrong: red for no good reason. */
const wrong =
  /does not exist|syntax error|is ambiguous|cannot cast|FP_SCHEMA_MISSING|column reference|ReferenceError|SyntaxError/

async function runTests(server: string, tests: readonly string[], guardOff: string): Promise<TestRun> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-guards-'))
  const report = join(directory, 'report.json')
  try {
    const files = [...new Set(tests.map((test) => test.split(' > ')[0] as string))]
    const names = tests.map((test) => escaped(test.split(' > ').slice(1).join(' ')))
    const output = await vitest(
      [
        'run',
        '--project=pg18',
        '--project=rules',
        '--maxWorkers=1',
        `--testTimeout=${testMsMax}`,
        `--hookTimeout=${testMsMax}`,
        '--reporter=json',
        `--outputFile=${report}`,
        `--testNamePattern=(^| )(${names.join('|')})$`,
        ...files,
      ],
      { FENCEPOST_GUARD_OFF: guardOff, FENCEPOST_GUARDS_SERVER: server },
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

function vitest(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, [join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs'), ...args], {
    cwd: packageRoot,
    env: { ...process.env, ...env, FENCEPOST_TEST_PG15: 'none: everything on this server', NO_COLOR: '1' },
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
      else told.set(name, { verdict: wrong.test(messages) ? 'broken' : 'red', why })
    }
  }
  return told
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Whether every test of the guard went red without it. */
async function check(server: string, { id, tests }: Guard): Promise<boolean> {
  const startedAt = Date.now()
  const { told, output } = await runTests(server, tests, id)
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
async function requireGreen(server: string, guards: readonly Guard[]): Promise<boolean> {
  const tests = [...new Set(guards.flatMap((guard) => guard.tests))]
  const { told, output } = await runTests(server, tests, '')
  const failed = tests.filter((test) => told.get(test)?.verdict !== 'green')
  if (failed.length === 0) {
    console.log(`green with every guard in place: ${tests.length} tests`)
    return true
  }
  console.log('NOT GREEN with every guard in place:')
  complain(failed, told, output)
  return false
}

function chosen(all: readonly Guard[], words: readonly string[]): readonly Guard[] {
  if (words.length === 0) return all
  const isChosen = (guard: Guard) =>
    words.some((word) => word === guard.id || word === (isSqlGuard(guard) ? 'sql/' : 'src/'))
  return all.filter(isChosen)
}

async function main(words: readonly string[]): Promise<boolean> {
  const all = readGuards()
  const unknown = words.filter((word) => chosen(all, [word]).length === 0)
  if (unknown.length > 0) {
    console.error(`guards.json has no ${unknown.join(', ')}`)
    return false
  }
  const guards = chosen(all, words)
  const server = await startTestServer('embedded')
  try {
    return await checkAll(server.url, guards)
  } finally {
    await server.stop()
  }
}

async function checkAll(server: string, guards: readonly Guard[]): Promise<boolean> {
  if (!(await requireGreen(server, guards))) return false
  const startedAt = Date.now()
  const queue = [...guards]
  let red = 0
  const worker = async () => {
    for (let guard = queue.shift(); guard && process.exitCode === undefined; guard = queue.shift()) {
      if (await check(server, guard)) red++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  console.log(`${red} of ${guards.length} guards went red in ${Math.round((Date.now() - startedAt) / 1000)} s`)
  return red === guards.length
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1
