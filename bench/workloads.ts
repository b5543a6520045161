/** What is measured, of whom, and how: each with the settings that do best for that system. */
import { measured, type Run, type Stage } from './piece.js'
import type { Node } from './system.js'
import { fencepost, fencepostLarge } from './systems.js'
import { toppedUp } from './topped-up.js'
import { drained } from './workers.js'

export interface Workload {
  readonly name: string
  /** Also in a quick run. */
  readonly quick?: boolean
  /** On top of those that all have, if nobody says how many: what is short, and decides, is measured more often. */
  readonly moreRounds?: number
  /** The systems by the names under which they are told, each with its own way of doing it. */
  readonly runs: readonly Run[]
}

export const postgresPeers = ['graphile-worker', 'pg-boss', 'bullmq on PostgreSQL', 'DBOS'] as const
const all = [fencepost, ...postgresPeers, 'bullmq on Redis']

/** A full table, and what it takes to empty it; `kind` are the jobs it is full of. */
function drain(label: string, name: string, options: Record<string, unknown>, kind: Record<string, unknown> = {}): Run {
  return measured(label, {
    name,
    prepare: (_, main, jobs) => main.do('fill', { jobs, ...kind }),
    work: async (systems, jobs) => {
      const { seconds, cpuSeconds, overshoot } = await drained(systems, jobs, options)
      // How much memory a process holds that has done other things before would tell of those.
      return { seconds, cpuSeconds, ...(kind['groups'] !== undefined && { overshoot }) }
    },
  })
}

const bulk: Workload = {
  name: 'enqueue in bulk',
  quick: true,
  runs: all.map((name) => measured(name, { name, work: (_, jobs, main) => main.do('fill', { jobs }) })),
}

function one(label: string, name: string, by: string): Run {
  return measured(label, { name, work: (_, jobs, main) => main.do('add', { jobs, callers: 20, by }) })
}

const single: Workload = {
  name: 'enqueue one by one, 20 callers',
  runs: [...all.map((name) => one(name, name, 'add')), one('fencepost, not coalesced', fencepost, 'addAlone')],
}

const best: Workload = {
  name: 'no-op jobs, at its best',
  quick: true,
  moreRounds: 2,
  runs: [
    drain(fencepost, fencepost, { concurrency: 1_000 }),
    drain('raw loop', 'raw loop', { batch: 1_000 }),
    drain('graphile-worker, local queue 1000', 'graphile-worker', { concurrency: 100, localQueue: 1_000 }),
    drain('graphile-worker, local queue 2000', 'graphile-worker', { concurrency: 200, localQueue: 2_000 }),
    drain('pg-boss, fetch 500', 'pg-boss', { concurrency: 2_000, batch: 500 }),
    drain('pg-boss, fetch 2000', 'pg-boss', { concurrency: 8_000, batch: 2_000 }),
    drain('pg-boss, work', 'pg-boss', { concurrency: 1_000, by: 'work' }),
    drain('bullmq on Redis', 'bullmq on Redis', { concurrency: 100 }),
    drain('bullmq on PostgreSQL', 'bullmq on PostgreSQL', { concurrency: 100 }),
    drain('DBOS', 'DBOS', { concurrency: 100 }),
  ],
}

const atTen: Workload = {
  name: 'no-op jobs, concurrency 10',
  quick: true,
  runs: [
    drain(fencepost, fencepost, { concurrency: 10 }),
    drain('graphile-worker', 'graphile-worker', { concurrency: 10 }),
    drain('graphile-worker, local queue 50', 'graphile-worker', { concurrency: 10, localQueue: 50 }),
    drain('pg-boss', 'pg-boss', { concurrency: 10, batch: 3 }),
    drain('bullmq on PostgreSQL', 'bullmq on PostgreSQL', { concurrency: 10 }),
    drain('DBOS', 'DBOS', { concurrency: 10 }),
    drain('bullmq on Redis', 'bullmq on Redis', { concurrency: 10 }),
  ],
}

/** Those who can do it at all at such a rate, with what does best for them when a hundred handlers run. */
const hundred: readonly { name: string; options: Record<string, unknown> }[] = [
  { name: fencepost, options: { concurrency: 100 } },
  { name: 'graphile-worker', options: { concurrency: 100, localQueue: 500 } },
  { name: 'pg-boss', options: { concurrency: 100, batch: 25 } },
  { name: 'bullmq on Redis', options: { concurrency: 100 } },
]

const atHundred: Workload = {
  name: 'no-op jobs, concurrency 100',
  runs: hundred.map(({ name, options }) => drain(name, name, options)),
}

const fiveMs: Workload = {
  name: '5 ms jobs, concurrency 100',
  runs: hundred.map(({ name, options }) => drain(name, name, { ...options, handlerMs: 5 })),
}

/** Of a process that has done nothing else, and works long enough to have grown. */
function inMemory(label: string, name: string, options: Record<string, unknown>, node?: Node): Run {
  return measured(label, {
    name,
    seconds: 8,
    prepare: (_, main, jobs) => main.do('fill', { jobs }),
    by: async ({ systems }) => [await systems.fresh(name, node)],
    work: async (systems, jobs) => {
      const { seconds, cpuSeconds, rssMb } = await drained(systems, jobs, options)
      return { seconds, cpuSeconds, rssMb }
    },
    afterwards: (systems) => Promise.all(systems.map((system) => system.end())),
  })
}

/**
 * How much of it V8 lets be young differs from version to version, and can be said: also on the Node that runs this, as the
 * product can, and as the guide tells how to bound it.
 */
const memory: Workload = {
  name: 'worker memory, concurrency 100',
  runs: [
    ...hundred.map(({ name, options }) => inMemory(name, name, options)),
    inMemory(
      `fencepost, Node ${process.versions.node.split('.')[0]}`,
      fencepost,
      { concurrency: 100 },
      { path: process.execPath },
    ),
    inMemory(
      'fencepost, --max-semi-space-size=16',
      fencepost,
      { concurrency: 100 },
      { flags: ['--max-semi-space-size=16'] },
    ),
  ],
}

/** The same work by more of them, each with a hundred handlers. */
const processes: Workload = {
  name: 'no-op jobs, 1, 2 and 4 worker processes',
  runs: hundred.slice(0, 3).flatMap(({ name, options }) =>
    [1, 2, 4].map((count) =>
      measured(`${name}, ${count}`, {
        name,
        prepare: (_, main, jobs) => main.do('fill', { jobs }),
        by: ({ systems }) => Promise.all(Array.from({ length: count }, (_, n) => systems.guest(name, n))),
        work: async (systems, jobs) => {
          const { seconds, cpuSeconds } = await drained(systems, jobs, options)
          return { seconds, cpuSeconds }
        },
      }),
    ),
  ),
}

const latencyAsked = (scale: number) => ({ perSecond: 100, seconds: 10 * scale, warmUpSeconds: scale, concurrency: 10 })

interface Latencies {
  readonly p50: number
  readonly p99: number
}

const latency: Workload = {
  name: 'latency at 100 jobs/s',
  runs: [
    ...all.map((label) => ({
      label,
      run: async ({ systems, scale }: Stage) => {
        const system = await systems.main(label)
        await system.do('clear')
        const { p50, p99 } = await system.do<Latencies>('latency', latencyAsked(scale))
        return { p50Ms: p50, p99Ms: p99 }
      },
    })),
    {
      // In one process, a worker that is idle claims a job in the statement that stores it.
      label: `${fencepost}, enqueued by another process`,
      run: async ({ systems, scale }: Stage) => {
        const [system, worker] = [await systems.main(fencepost), await systems.guest(fencepost, 1)]
        await system.do('clear')
        await worker.do('beginLatency', latencyAsked(scale))
        await system.do('addSteadily', latencyAsked(scale))
        const { p50, p99 } = await worker.do<Latencies>('endLatency')
        return { p50Ms: p50, p99Ms: p99 }
      },
    },
  ],
}

const groups = { kind: 'gated', groups: 1_000 }
const gated: Workload = {
  name: 'behind gates (1000 groups, limit 2)',
  moreRounds: 2,
  runs: [100, 1_000].flatMap((concurrency) => [
    drain(`without gates, concurrency ${concurrency}`, fencepost, { concurrency }),
    drain(`with gates, concurrency ${concurrency}`, fencepost, { concurrency }, groups),
  ]),
}

const commit: Workload = {
  name: 'transactional handlers',
  runs: [drain('fencepost, job.commit', fencepost, { concurrency: 20 }, { kind: 'commit' })],
}

const minute = { backlog: 10_000, seconds: 60 }
/**
 * Begun after half a minute of the same: the server's autovacuum comes every 15 s, and has nothing to do in tables that were just
 * vacuumed. So the first tenth has its share of that, as the last has.
 */
const plain = { ...minute, warmUpSeconds: 30, concurrency: 1_000 }
const oneGate = { ...minute, kind: 'oneGate', concurrency: 100 } as const
const together: Workload = {
  name: 'enqueue and process together, 60 s',
  moreRounds: 2,
  runs: [toppedUp('plain', plain), toppedUp('plain, a transaction held open', { ...plain, pinned: true })],
}
/** By themselves: after so few jobs in a minute others would find less of their memory as they had left it. */
const togetherGated: Workload = {
  name: 'enqueue and process together behind one gate, 60 s',
  runs: [toppedUp('one gate', oneGate), toppedUp('one gate, a transaction held open', { ...oneGate, pinned: true })],
}

/** The last one: so much in the tables would slow down the vacuum before every other piece. */
const backlog: Workload = {
  name: 'from a backlog',
  moreRounds: 2,
  runs: [
    toppedUp('10 thousand', { backlog: 10_000, seconds: 15, concurrency: 1_000 }),
    toppedUp('5 million', { name: fencepostLarge, backlog: 5_000_000, seconds: 15, concurrency: 1_000, keeps: true }),
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
  commit,
  memory,
  processes,
  together,
  togetherGated,
  backlog,
]
