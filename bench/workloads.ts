/** What is measured, of whom, and how: each with the settings that do best for that system. */
import type { Database } from '../src/store/database.js'
import { type Costs, costing } from './database-costs.js'
import type { System, Told } from './system.js'

export interface Stage {
  /** A connection to look on from. */
  readonly db: Database
  readonly url: string
  system(name: string): Promise<System>
  /** How much of the work is done: 1 in a full run. */
  readonly scale: number
}

export interface Workload {
  readonly name: string
  /** Also in a quick run. */
  readonly quick?: boolean
  /** The systems by the names under which they are told, each with its own way of doing it. */
  readonly runs: readonly { readonly label: string; run(stage: Stage): Promise<Record<string, number>> }[]
}

const fencepost = 'fencepost'
export const postgresPeers = ['graphile-worker', 'pg-boss', 'bullmq on PostgreSQL', 'DBOS'] as const
const all = [fencepost, ...postgresPeers, 'bullmq on Redis']

/** A full table, analyzed, and what it takes to empty it. */
function drain(label: string, name: string, jobs: number, options: Record<string, unknown>, fill?: Fill) {
  return {
    label,
    run: async (stage: Stage) => {
      const system = await stage.system(name)
      const count = Math.round(jobs * stage.scale)
      await system.do('clear')
      await (fill ?? ((one) => one.do('fill', { jobs: count })))(system, stage, count)
      await stage.db.once('vacuum analyze')
      await stage.db.once('checkpoint')
      const [told, costs] = await costing(stage.db, () => system.do('process', { jobs: count, ...options }))
      return figuresOf(told, costs, count)
    },
  }
}
type Fill = (system: System, stage: Stage, jobs: number) => Promise<unknown>

function figuresOf(told: Told, costs: Costs, jobs: number): Record<string, number> {
  return {
    perSecond: jobs / told.seconds,
    walBytesPerJob: costs.walBytes / jobs,
    commitsPerJob: costs.commits / jobs,
    databaseCpuMicrosPerJob: (costs.databaseCpuSeconds / jobs) * 1e6,
    workerCpuMicrosPerJob: (told.cpuSeconds / jobs) * 1e6,
    workerMb: told.rssMb,
    ...(told.overshoot !== undefined && { overshoot: told.overshoot }),
  }
}

const bulk: Workload = {
  name: 'enqueue in bulk',
  quick: true,
  runs: all.map((label) => ({
    label,
    run: async (stage) => {
      const jobs = Math.round(100_000 * stage.scale)
      const system = await stage.system(label)
      await system.do('clear')
      await stage.db.once('checkpoint')
      const [told, costs] = await costing(stage.db, () => system.do('fill', { jobs }))
      return figuresOf(told, costs, jobs)
    },
  })),
}

const single: Workload = {
  name: 'enqueue one by one, 20 callers',
  runs: all.map((label) => ({
    label,
    run: async (stage) => {
      const jobs = Math.round(20_000 * stage.scale)
      const system = await stage.system(label)
      await system.do('clear')
      const [told, costs] = await costing(stage.db, () => system.do('add', { jobs, callers: 20 }))
      return figuresOf(told, costs, jobs)
    },
  })),
}

const best: Workload = {
  name: 'no-op jobs, at its best',
  quick: true,
  runs: [
    drain(fencepost, fencepost, 100_000, { concurrency: 1_000 }),
    drain('raw loop', 'raw loop', 100_000, { batch: 1_000 }),
    drain('graphile-worker, local queue 1000', 'graphile-worker', 50_000, { concurrency: 100, localQueue: 1_000 }),
    drain('graphile-worker, local queue 2000', 'graphile-worker', 50_000, { concurrency: 200, localQueue: 2_000 }),
    drain('pg-boss, fetch 500', 'pg-boss', 50_000, { concurrency: 2_000, batch: 500 }),
    drain('pg-boss, fetch 2000', 'pg-boss', 50_000, { concurrency: 8_000, batch: 2_000 }),
    drain('pg-boss, work', 'pg-boss', 5_000, { concurrency: 1_000, by: 'work' }),
    drain('bullmq on Redis', 'bullmq on Redis', 50_000, { concurrency: 100 }),
    drain('bullmq on PostgreSQL', 'bullmq on PostgreSQL', 5_000, { concurrency: 100 }),
    drain('DBOS', 'DBOS', 2_000, { concurrency: 100 }),
  ],
}

const atTen: Workload = {
  name: 'no-op jobs, concurrency 10',
  quick: true,
  runs: [
    drain(fencepost, fencepost, 50_000, { concurrency: 10 }),
    drain('graphile-worker', 'graphile-worker', 20_000, { concurrency: 10 }),
    drain('graphile-worker, local queue 50', 'graphile-worker', 20_000, { concurrency: 10, localQueue: 50 }),
    drain('pg-boss', 'pg-boss', 20_000, { concurrency: 10, batch: 3 }),
    drain('bullmq on PostgreSQL', 'bullmq on PostgreSQL', 2_000, { concurrency: 10 }),
    drain('DBOS', 'DBOS', 1_000, { concurrency: 10 }),
    drain('bullmq on Redis', 'bullmq on Redis', 20_000, { concurrency: 10 }),
  ],
}

const atHundred: Workload = {
  name: 'no-op jobs, concurrency 100',
  runs: [
    drain(fencepost, fencepost, 100_000, { concurrency: 100 }),
    drain('graphile-worker', 'graphile-worker', 20_000, { concurrency: 100, localQueue: 500 }),
    drain('pg-boss', 'pg-boss', 20_000, { concurrency: 100, batch: 25 }),
    drain('bullmq on Redis', 'bullmq on Redis', 20_000, { concurrency: 100 }),
  ],
}

const fiveMs: Workload = {
  name: '5 ms jobs, concurrency 100',
  runs: [
    drain(fencepost, fencepost, 100_000, { concurrency: 100, handlerMs: 5 }),
    drain('graphile-worker', 'graphile-worker', 50_000, { concurrency: 100, localQueue: 500, handlerMs: 5 }),
    drain('pg-boss', 'pg-boss', 20_000, { concurrency: 100, batch: 25, handlerMs: 5 }),
    drain('bullmq on Redis', 'bullmq on Redis', 50_000, { concurrency: 100, handlerMs: 5 }),
  ],
}

const latency: Workload = {
  name: 'latency at 100 jobs/s',
  runs: all.map((label) => ({
    label,
    run: async (stage) => {
      const system = await stage.system(label)
      await system.do('clear')
      const options = label === 'pg-boss' ? { by: 'fetch', batch: 3 } : {}
      const told = await system.do('latency', { perSecond: 100, seconds: 10, concurrency: 10, ...options })
      return { p50Ms: told.p50 ?? 0, p99Ms: told.p99 ?? 0 }
    },
  })),
}

const fillGated =
  (groups: number, limit: number): Fill =>
  (_, { db }, jobs) =>
    fillBySql(
      db,
      jobs,
      'gated',
      `jsonb_build_object('group', 'g' || (i % ${groups}), 'limit', ${limit})`,
      `jsonb_build_array(jsonb_build_object('key', 'gate:g' || (i % ${groups}), 'limit', ${limit}, 'onFull', 'wait'))`,
    )

/** Millions, by the same function that a client calls. */
async function fillBySql(db: Database, jobs: number, task: string, payload: string, gates: string): Promise<void> {
  await db.once(
    `select count(*) from (select bench_fencepost.enqueue_many(array_agg(bench_fencepost.new_id()), array_agg('${task}'::text),
       array_agg(${payload} order by i), array_agg('default'::text), array_agg(0::smallint), array_agg(0::bigint),
       array_agg(3::smallint), array_agg(3::smallint), array_agg(30000), array_agg(${gates} order by i), true)
     from generate_series(1, $1::integer) i group by i / 1000) e`,
    [jobs],
  )
}
const plainBySql: Fill = (_, { db }, jobs) => fillBySql(db, jobs, 'noop', `'{}'::jsonb`, 'null::jsonb')

const gated: Workload = {
  name: 'behind gates (1000 groups, limit 2)',
  runs: [
    drain('without gates', fencepost, 50_000, { concurrency: 100 }, plainBySql),
    drain('with gates', fencepost, 50_000, { concurrency: 100 }, fillGated(1_000, 2)),
    drain('without gates, concurrency 1000', fencepost, 50_000, { concurrency: 1_000 }, plainBySql),
    drain('with gates, concurrency 1000', fencepost, 50_000, { concurrency: 1_000 }, fillGated(1_000, 2)),
  ],
}

/** While a transaction is held open that could still see everything that was there when it began. */
function pinned(run: Workload['runs'][number], label: string): Workload['runs'][number] {
  return {
    label,
    run: async (stage) => {
      let release = () => {}
      const held = stage.db.transaction(async (tx) => {
        await tx.query('set transaction isolation level repeatable read')
        await tx.query('select 1')
        await new Promise<void>((resolve) => (release = resolve))
      })
      try {
        return await run.run(stage)
      } finally {
        release()
        await held
      }
    },
  }
}

const plainRun = drain('plain', fencepost, 300_000, { concurrency: 1_000 }, plainBySql)
const oneGate = drain('one gate', fencepost, 100_000, { concurrency: 100 }, fillGated(1, 50))
const xmin: Workload = {
  name: 'with a transaction held open',
  runs: [plainRun, pinned(plainRun, 'plain, pinned'), oneGate, pinned(oneGate, 'one gate, pinned')],
}

const backlog: Workload = {
  name: 'from a backlog',
  runs: [backlogged('10 thousand, topped up', 10_000), backlogged('5 million', 5_000_000)],
}

/** Done with a part of it: so many jobs stay. */
function backlogged(label: string, waiting: number) {
  return {
    label,
    run: async (stage: Stage) => {
      const system = await stage.system(fencepost)
      const jobs = Math.round(100_000 * stage.scale)
      await system.do('clear')
      await plainBySql(system, stage, Math.round(waiting * stage.scale) + jobs)
      await stage.db.once('vacuum analyze')
      await stage.db.once('checkpoint')
      const [told, costs] = await costing(stage.db, () =>
        system.do('process', { jobs, concurrency: 1_000, alone: false }),
      )
      return figuresOf(told, costs, jobs)
    },
  }
}

const commit: Workload = {
  name: 'transactional handlers',
  runs: [
    drain('job.commit', fencepost, 20_000, { concurrency: 20 }, (_, { db }, jobs) =>
      fillBySql(db, jobs, 'commit', `'{}'::jsonb`, 'null::jsonb'),
    ),
  ],
}

const steady: Workload = {
  name: 'enqueue and process together, 60 s',
  runs: [
    {
      label: fencepost,
      run: async (stage) => {
        const system = await stage.system(fencepost)
        await system.do('clear')
        const { tenths = [] } = await system.do('steady', { seconds: 60 * stage.scale, concurrency: 1_000 })
        return {
          perSecond: tenths.reduce((a, b) => a + b, 0) / (60 * stage.scale),
          lastToFirst: (tenths[9] ?? 0) / (tenths[0] ?? 1),
        }
      },
    },
  ],
}

export const workloads: readonly Workload[] = [
  bulk,
  best,
  atTen,
  single,
  atHundred,
  fiveMs,
  latency,
  gated,
  xmin,
  backlog,
  commit,
  steady,
]
