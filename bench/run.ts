/**
 * `npm run bench`: Fencepost beside what people would pick instead, on one machine and one server, in interleaved rounds,
 * so that what disturbs one disturbs all. Every system runs in a process of its own, on the same Node, by its public API.
 *
 *     npm run bench [-- --quick] [--rounds 3] [--only 'no-op'] [--scale 0.1] [--resume] [--json] [--write]
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { joinEmbeddedServer } from '../src/embedded/embedded-server.js'
import { Database } from '../src/store/database.js'
import { goalsOf } from './goals.js'
import { plotsOf, type Told, writePage } from './report.js'
import { startRedis } from '../src/lab/peer-redis.js'
import { Results } from './results.js'
import { node24, peers, System } from './system.js'
import { type Stage, type Workload, workloads } from './workloads.js'

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
const rounds = Number(given.rounds ?? (given.quick ? 1 : 3))
const scale = Number(given.scale ?? (given.quick ? 0.3 : 1))
/** A quick run is for a look: these are the systems whose figures matter most. */
const leftOutInQuick = /bullmq|DBOS|work$|local queue 2000|fetch 2000/
const say = given.json ? () => {} : (text: string) => process.stderr.write(`${text}\n`)
const directory = join(import.meta.dirname, 'results')
const results = new Results(join(directory, given.quick ? 'quick.jsonl' : 'full.jsonl'), given.resume)

const programs: Record<string, Record<string, unknown> & { system: string }> = {
  fencepost: { system: 'fencepost' },
  'raw loop': { system: 'raw-loop' },
  'graphile-worker': { system: 'graphile-worker' },
  'pg-boss': { system: 'pg-boss' },
  'bullmq on Redis': { system: 'bullmq', on: 'redis' },
  'bullmq on PostgreSQL': { system: 'bullmq', on: 'postgres' },
  DBOS: { system: 'dbos' },
}
const about: Record<string, { versions: Readonly<Record<string, string>>; settings: string }> = {}
const cannot: Record<string, string> = {}

async function measureAll(stage: Stage): Promise<void> {
  const chosen = workloads.filter(({ name, quick }) =>
    given.only ? given.only.some((part) => name.includes(part)) : !given.quick || quick,
  )
  const steps = chosen.flatMap((workload) =>
    Array.from({ length: rounds }, (_, round) =>
      workload.runs
        .filter(({ label }) => !given.quick || !leftOutInQuick.test(label))
        .map((run) => ({ workload, run, round })),
    ).flat(),
  )
  for (const [n, { workload, run, round }] of steps.entries()) {
    if (results.has(workload.name, run.label, round) || cannot[`${workload.name}: ${run.label}`]) continue
    const begunAt = performance.now()
    const told = await measure(stage, workload, run, round)
    const took = `${Math.round((performance.now() - begunAt) / 1_000)} s`
    say(`[${n + 1}/${steps.length}] ${workload.name} · ${run.label} · round ${round + 1}: ${told} (${took})`)
  }
}

/** A peer that cannot do it is told with its reason, and the others go on. */
async function measure(
  stage: Stage,
  workload: Workload,
  run: Workload['runs'][number],
  round: number,
): Promise<string> {
  try {
    const figures = await run.run(stage)
    results.add({ workload: workload.name, system: run.label, round, figures })
    if (figures['perSecond'] !== undefined) return `${Math.round(figures['perSecond'])}/s`
    return Object.entries(figures)
      .map(([name, value]) => `${name} ${value.toFixed(1)}`)
      .join(', ')
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] as string) : String(error)
    cannot[`${workload.name}: ${run.label}`] = reason
    return `not measured: ${reason}`
  }
}

async function main(): Promise<void> {
  if (!existsSync(node24) || !existsSync(join(peers, 'node_modules', 'graphile-worker'))) {
    say('Installing the peers …')
    execFileSync('npm', ['ci', '--prefix', peers], { stdio: given.json ? 'ignore' : 'inherit' })
  }
  const home = mkdtempSync(join(tmpdir(), 'fencepost-bench-'))
  const server = process.env['DATABASE_URL'] ? undefined : await joinEmbeddedServer({ directory: home })
  const url = process.env['DATABASE_URL'] ?? (server as NonNullable<typeof server>).url
  // As it is mostly run: it answers before anything is on disk.
  const redis = await startRedis({ durable: false }).catch(() => undefined)
  const db = new Database({ url, poolSize: 3 })
  const running = new Map<string, Promise<System>>()
  const stage: Stage = {
    db,
    url,
    scale,
    system: (name) => {
      const program = programs[name]
      if (!program) throw new Error(`there is no system ${name}`)
      if (program['on'] === 'redis' && !redis) throw new Error('redis-server is not installed')
      const started = running.get(name) ?? System.start(name, { ...program, url, redisPort: redis?.port })
      running.set(name, started)
      return started.then((system) => {
        about[name] = { versions: system.versions, settings: system.settings }
        return system
      })
    },
  }
  try {
    await measureAll(stage)
  } finally {
    for (const started of running.values()) await started.then((system) => system.end()).catch(() => {})
    await db.close()
    await redis?.stop()
    await server?.leave()
    rmSync(home, { recursive: true, force: true })
  }
}

function tell(): void {
  const rows = results.summary()
  const goals = goalsOf(results).filter(({ value }) => value !== undefined)
  const told: Told = { systems: about, cannot, rows, goals }
  for (const { file, svg } of plotsOf(told)) writeFileSync(join(directory, file), svg)
  if (given.write) writePage(told, join(import.meta.dirname, '..', 'docs', 'internals'))
  if (given.json) {
    console.log(JSON.stringify(told, null, 2))
    return
  }
  console.table(about)
  console.table(
    rows
      .filter(({ figure }) => figure === 'perSecond' || figure.startsWith('p'))
      .map(({ workload, system, figure, median, spread }) => ({
        workload,
        system,
        figure,
        median: Math.round(median * 10) / 10,
        spread: spread.toFixed(2),
      })),
  )
  console.table(goals.map(({ name, value, goal, holds }) => ({ name, value: value?.toFixed(2), goal, holds })))
  if (Object.keys(cannot).length > 0) console.table(cannot)
}

await main()
tell()
