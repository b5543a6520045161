/** What the benchmarks share: a server, a filled queue, a worker that empties it, and what that cost. */
import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task } from '../src/index.js'
import { Database } from '../src/store/database.js'
import { migrate } from '../src/store/migrator.js'
import { startBenchServer } from './server.js'

export const schema = 'fencepost_bench'

export interface Run {
  readonly seconds: number
  readonly jobs: number
  readonly batch: number
  readonly walBytes: number
  readonly commits: number
}

export const anything = {
  '~standard': { version: 1, vendor: 'bench', validate: (value: unknown) => ({ value }) },
} as const

/** Jobs in `ready`, or behind gates: `gates` is an SQL expression of the job's number `i`. */
export async function measured(
  db: Database,
  jobs: number,
  work: () => Promise<{ seconds: number; turns: number; jobs?: number }>,
  gates = 'null::jsonb',
): Promise<Run> {
  await db.once(
    `truncate fencepost.job, fencepost.ready, fencepost.waiting, fencepost.leased, fencepost.finished,
       fencepost.attempt, fencepost.gate, fencepost.nudge`,
  )
  await db.once(
    `select count(*) from (select fencepost.enqueue_many(array_agg(fencepost.new_id()), array_agg('noop'::text),
       array_agg('{"n":1}'::jsonb), array_agg('default'::text), array_agg(0::smallint), array_agg(0::bigint),
       array_agg(3::smallint), array_agg(3::smallint), array_agg(30000), array_agg(${gates} order by i), true)
     from generate_series(1, $1) i group by i / 1000) e`,
    [jobs],
  )
  await db.once('vacuum analyze fencepost.ready, fencepost.waiting, fencepost.gate, fencepost.job')
  await db.once('checkpoint')
  const before = await costs(db)
  const { seconds, turns, jobs: done = jobs } = await work()
  const after = await costs(db)
  return {
    seconds,
    jobs: done,
    batch: done / turns,
    walBytes: after.wal - before.wal,
    commits: after.commits - before.commits,
  }
}

/** The counters of a session reach the view a second after its last statement, or when it ends. */
async function costs(db: Database): Promise<{ wal: number; commits: number }> {
  await pause(1_200)
  const [row] = await db.once<{ wal: string; commits: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal,
            (select xact_commit::text from pg_stat_database where datname = current_database()) as commits`,
  )
  return { wal: Number(row?.wal), commits: Number(row?.commits) }
}

export async function workerRun(url: string, concurrency: number, jobs: number, handlerMs = 0) {
  const fp = await fencepost({ database: url, schema, migrate: false })
  let done = 0
  let begunAt = 0
  let endedAt = 0
  const ended = new Promise<void>((resolve) => {
    fp.on('finished', () => {
      if (++done < jobs) return
      endedAt = performance.now()
      resolve()
    })
  })
  const noop = task('noop', { input: anything, run: handlerMs === 0 ? () => null : () => pause(handlerMs, null) })
  begunAt = performance.now()
  const worker = await fp.work([noop], { concurrency })
  await ended
  const { turns } = worker
  await fp.close()
  return { seconds: (endedAt - begunAt) / 1_000, turns }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}

export async function onServer<Figures>(bench: (url: string, db: Database) => Promise<Figures>): Promise<Figures> {
  const stopping = new AbortController()
  // A server of its own does not end with the terminal.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
  const { url, stop } = await startBenchServer({ signal: stopping.signal }).catch((error: unknown) => {
    if (stopping.signal.aborted) process.exit(130)
    throw error
  })
  stopping.signal.addEventListener('abort', () => void stop().finally(() => process.exit(130)))
  await migrate({ url, schema })
  const db = new Database({ url, schema, poolSize: 1 })
  try {
    return await bench(url, db)
  } finally {
    await db.once(`drop schema if exists ${schema} cascade`)
    await db.close()
    await stop()
  }
}
