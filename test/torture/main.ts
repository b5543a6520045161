/**
 * `npm run torture -- --minutes N --seed S [--plain 200] [--json] [--log] [--server embedded] [--keep]`, `-- --kept` for the seeds that are
 * kept as tests, `-- --totals` for what all logged runs add up to. See docs/internals/reliability.md.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/package-root.js'
import { systemPrograms } from '../harness/test-server.js'
import { type Tortured, torture } from './run.js'
import { logRun, readLog, totalsTable, writeTotals } from './run-log.js'
import { type Plan, plainPerSecond } from './work.js'

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string' },
    plain: { type: 'string', default: String(plainPerSecond) },
    server: { type: 'string', default: systemPrograms() ? 'system' : 'embedded' },
    json: { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
    totals: { type: 'boolean', default: false },
  },
})

/** Nothing that the run has made may outlive it, however it ends. */
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stop.abort(new Error(`told to stop: ${signal}`)))
}
process.on('uncaughtException', (error) => stop.abort(error))

if (options.totals) {
  writeTotals()
  console.log(totalsTable(readLog()))
} else {
  const holds = await playAll().catch((error: unknown) => {
    console.error(error) // the program's own failure, or a signal: no verdict
    return false
  })
  process.exit(holds ? 0 : 1)
}

async function playAll(): Promise<boolean> {
  let holds = true
  for (const plan of asked()) {
    const result = await play(plan)
    holds &&= result.holds
    if (options.log) logRun(result)
  }
  return holds
}

function asked(): Plan[] {
  if (options.kept) {
    const kept = readFileSync(join(packageRoot, 'test', 'torture', 'seeds.json'), 'utf8')
    return JSON.parse(kept) as Plan[]
  }
  const seed = options.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(options.seed)
  const [minutes, plain] = [Number(options.minutes), Number(options.plain)]
  if (!Number.isSafeInteger(seed) || seed < 0 || !(minutes > 0) || !(plain > 0)) {
    console.error('--seed is a whole number, --minutes and --plain are numbers above 0')
    process.exit(2)
  }
  return [{ seed, minutes, plain }]
}

async function play(plan: Plan): Promise<Tortured> {
  const { seed, minutes } = plan
  const server = options.server === 'embedded' ? 'embedded' : 'system'
  const onProgress = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
    else if (!/^\d+ of/.test(text)) process.stderr.write(`${text}\n`)
  }
  onProgress(`seed ${seed}, ${minutes} minutes`)
  const result = await torture({ plan, server, keep: options.keep, onProgress, signal: stop.signal })
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  if (options.json) console.log(JSON.stringify(result))
  else tell(result)
  return result
}

function tell({ seed, minutes, plain, postgres, figures, violations, holds }: Tortured): void {
  console.log(`seed ${seed}, ${minutes} minutes, PostgreSQL ${postgres}`)
  for (const [what, count] of Object.entries(figures)) console.log(`${String(count).padStart(10)}  ${what}`)
  for (const { rule, what } of violations) console.log(`VIOLATION  ${rule}: ${what}`)
  console.log(
    holds
      ? 'nothing was lost, doubled or miscounted'
      : `the same schedule again: npm run torture -- --minutes ${minutes} --seed ${seed} --plain ${plain}`,
  )
}
