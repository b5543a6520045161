import { setTimeout as pause } from 'node:timers/promises'
import type { Fencepost } from '../client/fencepost.js'
import { task } from '../task/task.js'

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: 'jobs/s' | 'ms'
}

/** What a measure works with: a client of empty tables, and whom it tells of each job. */
interface Bench {
  readonly fp: Fencepost
  readonly jobs: number
  readonly onDone: (jobs: number) => void
  readonly signal: AbortSignal
}

export interface Measure {
  readonly name: string
  /** Of the jobs that were asked for. */
  readonly share: number
  readonly run: (bench: Bench) => Promise<readonly Figure[]>
}

const anything = {
  '~standard': { version: 1, vendor: 'fencepost bench', validate: (value: unknown) => ({ value }) },
} as const
const noop = task('noop', { input: anything, run: () => null })
const inTransaction = task('in-transaction', {
  input: anything,
  run: (_, job) =>
    job.commit(async (tx) => {
      await tx.query('select 1')
      return null
    }),
})

export const measures: readonly Measure[] = [
  rate('enqueue in bulk', 1, (bench) => fill(bench, noop, bench.onDone)),
  rate('enqueue one by one, 20 callers', 0.5, async ({ fp, jobs, onDone, signal }) => {
    let next = 0
    const caller = async () => {
      while (next++ < jobs && !signal.aborted) {
        await fp.enqueue(noop, { n: next })
        onDone(1)
      }
    }
    await Promise.all(Array.from({ length: 20 }, caller))
  }),
  drained('no-op jobs, concurrency 10', 0.5, noop, 10),
  drained('no-op jobs, concurrency 100', 1, noop, 100),
  drained('no-op jobs, concurrency 1000', 1, noop, 1_000),
  drained('jobs with job.commit, concurrency 20', 0.1, inTransaction, 20),
  { name: 'from enqueue to handler', share: 0.025, run: latency },
]

function rate(name: string, share: number, work: (bench: Bench) => Promise<void>): Measure {
  return {
    name,
    share,
    run: async (bench) => {
      const begunAt = performance.now()
      await work(bench)
      return [{ name, value: (bench.jobs * 1_000) / (performance.now() - begunAt), unit: 'jobs/s' }]
    },
  }
}

async function fill(
  { fp, jobs, signal }: Bench,
  which: typeof noop,
  onDone: Bench['onDone'] = () => {},
): Promise<void> {
  for (let first = 0; first < jobs && !signal.aborted; first += 1_000) {
    const size = Math.min(1_000, jobs - first)
    await fp.enqueueMany(
      which,
      Array.from({ length: size }, (_, n) => ({ input: { n: first + n } })),
    )
    onDone(size)
  }
}

/** From before the worker starts to the end of the last job. */
function drained(name: string, share: number, which: typeof noop, concurrency: number): Measure {
  const { run } = rate(name, share, async (bench) => {
    const all = ended(bench, bench.jobs)
    await bench.fp.work([which], { concurrency })
    await all
  })
  return {
    name,
    share,
    run: async (bench) => {
      await fill(bench, which)
      return run(bench)
    },
  }
}

/** When so many jobs have ended, or nobody waits any more. */
function ended({ fp, onDone, signal }: Bench, jobs: number): Promise<void> {
  return new Promise((resolve) => {
    let done = 0
    fp.on('finished', () => {
      onDone(1)
      if (++done >= jobs) resolve()
    })
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Of a job that is enqueued while there is nothing to do, a hundred a second. */
async function latency(bench: Bench): Promise<readonly Figure[]> {
  const { fp, jobs, signal } = bench
  const tookMs: number[] = []
  const timed = task('timed', {
    input: anything,
    run: (input) => {
      tookMs.push(performance.now() - (input as { at: number }).at)
      return null
    },
  })
  const all = ended(bench, jobs)
  await fp.work([timed], { concurrency: 10 })
  const begunAt = performance.now()
  for (let n = 0; n < jobs && !signal.aborted; n++) {
    await pause(Math.max(0, begunAt + n * 10 - performance.now()))
    await fp.enqueue(timed, { at: performance.now() })
  }
  await all
  const sorted = tookMs.toSorted((a, b) => a - b)
  const below = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return [
    { name: 'from enqueue to handler, median', value: below(0.5), unit: 'ms' },
    { name: 'from enqueue to handler, 99 of 100', value: below(0.99), unit: 'ms' },
  ]
}
