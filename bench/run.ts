/**
 * `npm run bench`: Fencepost beside what people would pick instead, on one machine and one server, in interleaved rounds,
 * so that what disturbs one disturbs all. Every system runs in a process of its own, on the same Node, by its public API.
 *
 *     npm run bench [-- --quick] [--rounds 3] [--only 'no-op'] [--scale 0.1] [--resume] [--json] [--write]
 */
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Database } from '../src/store/database.js'
import { goalsOf } from './goals.js'
import { watchingHost } from './host.js'
import type { Run, Stage } from './piece.js'
import { startBenchRedis } from './redis.js'
import { plotsOf, shown, type Told, tableOf, workloadsOf, writePages } from './report.js'
import { Results } from './results.js'
import { startBenchServer } from './server.js'
import { node24, peers } from './system.js'
import { Systems } from './systems.js'
import { type Workload, workloads } from './workloads.js'

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    scale: { type: 'string' },
    only: { type: 'string', multiple: true },
    resume: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const rounds = (workload: Workload) => Number(given.rounds ?? 3 + (given.quick ? 0 : (workload.moreRounds ?? 0)))
const scale = Number(given.scale ?? (given.quick ? 0.7 : 1))
/** A quick run is for a look: these are the systems whose figures matter most. */
const leftOutInQuick = /bullmq|DBOS|work$|local queue 2000|fetch 2000/
const say = (text: string) => process.stderr.write(`${text}\n`)
const directory = join(import.meta.dirname, 'results')
const results = new Results(join(directory, given.quick ? 'quick.jsonl' : 'full.jsonl'), given.resume)
const cannot: Record<string, string> = {}
const stopping = new AbortController()

async function measureAll(stage: Stage): Promise<void> {
  const chosen = workloads.filter(({ name, quick }) =>
    given.only ? given.only.some((part) => name.includes(part)) : !given.quick || quick,
  )
  const steps = chosen.flatMap((workload) =>
    Array.from({ length: rounds(workload) }, (_, round) =>
      turned(
        workload.runs.filter(({ label }) => !given.quick || !leftOutInQuick.test(label)),
        round,
      ).map((run) => ({ workload, run, round })),
    ).flat(),
  )
  const startedAt = performance.now()
  let before: Workload | undefined
  for (const [n, { workload, run, round }] of steps.entries()) {
    if (stopping.signal.aborted) return
    if (results.has(workload.name, run.label, round) || cannot[`${workload.name}: ${run.label}`]) continue
    if (workload !== before) await stage.systems.endGuests()
    before = workload
    const begunAt = performance.now()
    const told = await measure(stage, workload, run, round)
    const [took, passed] = [performance.now() - begunAt, performance.now() - startedAt]
    const times = `${Math.round(took / 1_000)} s, ${(passed / 60_000).toFixed(1)} min so far`
    say(`[${n + 1}/${steps.length}] ${workload.name} · ${run.label} · round ${round + 1}: ${told} (${times})`)
  }
}

/** Each round begins with another system: nobody is always the one behind a slow one, or in memory that is touched first. */
function turned<Item>(items: readonly Item[], by: number): Item[] {
  const first = by % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

/** A peer that cannot do it is told with its reason, and the others go on. */
async function measure(stage: Stage, workload: Workload, run: Run, round: number): Promise<string> {
  try {
    const [figures, host] = await watchingHost(() => run.run(stage))
    results.add({ workload: workload.name, system: run.label, round, figures: { ...figures, ...host } })
    if (figures['perSecond'] !== undefined) return `${shown(figures['perSecond'])}/s`
    return Object.entries(figures)
      .map(([name, value]) => `${name} ${shown(value)}`)
      .join(', ')
  } catch (error) {
    if (stopping.signal.aborted) return 'stopped'
    const reason = error instanceof Error ? (error.message.split('\n')[0] as string) : String(error)
    cannot[`${workload.name}: ${run.label}`] = reason
    return `not measured: ${reason}`
  }
}

async function main(): Promise<void> {
  if (!existsSync(node24) || !existsSync(join(peers, 'node_modules', 'graphile-worker'))) {
    say('Installing the peers …')
    execFileSync('npm', ['ci', '--prefix', peers], { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const redis = given.quick ? undefined : await startBenchRedis(say)
  const {
    url,
    about,
    stop: stopServer,
  } = await startBenchServer({ touched: !given.quick, signal: stopping.signal }).catch(async (error) => {
    await redis?.stop()
    throw error
  })
  const db = new Database({ url, poolSize: 1 })
  results.started('PostgreSQL', { versions: { server: await serverVersion(db) }, settings: about })
  const systems = new Systems({ url, redisPort: redis?.port }, (...started) => results.started(...started))
  stopping.signal.addEventListener('abort', () => systems.kill())
  try {
    await measureAll({ db, url, systems, scale })
  } finally {
    await systems.end()
    await db.close()
    await redis?.stop()
    await stopServer()
  }
}

async function serverVersion(db: Database): Promise<string> {
  const [row] = await db.once<{ version: string }>(`select current_setting('server_version') as version`)
  return (row as { version: string }).version
}

function tell(): void {
  const rows = results.summary()
  const goals = goalsOf(results).filter(({ value }) => value !== undefined)
  const told: Told = { systems: results.systems, cannot, rows, goals }
  for (const { file, svg } of plotsOf(told)) writeFileSync(join(directory, file), svg)
  if (given.write) writePages(told, join(import.meta.dirname, '..'))
  if (given.json) {
    console.log(JSON.stringify(told, null, 2))
    return
  }
  for (const [name, { versions, settings }] of Object.entries(told.systems)) {
    console.log(`${name}: ${settings} (${Object.values(versions).join(', ')})`)
  }
  for (const workload of workloadsOf(rows)) {
    console.log(`\n${workload}`)
    console.table(tableOf(workload, rows))
  }
  console.table(goals.map(({ name, value, goal, holds }) => ({ name, value: shown(value), goal, holds })))
  if (Object.keys(cannot).length > 0) console.table(cannot)
}

// More than once: a terminal tells all of its processes, and those that started this one pass it on. And whoever reads what is told may
// be gone by then: the servers are stopped all the same.
process.on('SIGINT', () => stopping.abort()).on('SIGTERM', () => stopping.abort())
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stopping.abort())

await main().catch((error: unknown) => {
  if (!stopping.signal.aborted) throw error
})
if (stopping.signal.aborted) {
  say('Stopped. `npm run bench -- --resume` goes on, with the same options as before.')
  process.exitCode = 130
} else tell()
