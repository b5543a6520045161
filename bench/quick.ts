/**
 * `npm run bench:quick`: the whole worker against a raw loop over the same functions, with the same batch and the same
 * number of connections, in interleaved rounds: what is told are ratios of one run, because machines differ and are
 * noisy. Also 5 ms handlers as a share of what their concurrency allows, and what a job costs the database.
 *
 *     npm run bench:quick [-- --jobs 20000 --rounds 3 --json]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { joinEmbeddedServer } from '../src/embedded/embedded-server.js'
import { fencepost, task } from '../src/index.js'
import { Database } from '../src/store/database.js'
import { migrate } from '../src/store/migrator.js'
import { takeTurn, type TurnLease } from '../src/store/turn.js'

const { values: given } = parseArgs({
  options: {
    jobs: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
})
const jobsPerRun = Number(given.jobs)
const rounds = Number(given.rounds)
const schema = 'fencepost_bench'
const say = given.json ? () => {} : (text: string) => console.log(text)

interface Run {
  readonly seconds: number
  readonly jobs: number
  readonly batch: number
  readonly walBytes: number
  readonly commits: number
}

const anything = { '~standard': { version: 1, vendor: 'bench', validate: (value: unknown) => ({ value }) } } as const

async function measured(
  db: Database,
  jobs: number,
  work: () => Promise<{ seconds: number; turns: number }>,
): Promise<Run> {
  await db.once(`truncate fencepost.job, fencepost.ready, fencepost.leased, fencepost.finished, fencepost.attempt`)
  await db.once(
    `select count(*) from (select fencepost.enqueue_many(array_agg(fencepost.new_id()), array_agg('noop'::text),
       array_agg('{"n":1}'::jsonb), array_agg('default'::text), array_agg(0::smallint), array_agg(0::bigint),
       array_agg(3::smallint), array_agg(3::smallint), array_agg(30000)) from generate_series(1, $1) i group by i / 1000) e`,
    [jobs],
  )
  await db.once('vacuum analyze fencepost.ready, fencepost.job')
  await db.once('checkpoint')
  const before = await costs(db)
  const { seconds, turns } = await work()
  const after = await costs(db)
  return {
    seconds,
    jobs,
    batch: jobs / turns,
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

async function workerRun(url: string, concurrency: number, jobs: number, handlerMs: number) {
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

/** What the database allows: two connections that settle what they have claimed and claim again, and nothing else. */
async function rawRun(url: string, batch: number, jobs: number) {
  const db = new Database({ url, schema, poolSize: 2 })
  let [done, turns] = [0, 0]
  const begunAt = performance.now()
  const loop = async (worker: string) => {
    let leases: readonly TurnLease[] = []
    while (done < jobs) {
      const answer = await takeTurn(db, {
        worker,
        turn: ++turns,
        finish: leases.map(({ jobId, leaseId, nonce }) => ({ jobId, leaseId, nonce, resultText: 'null' })),
        fail: [],
        release: [],
        start: [],
        claim: { queues: [{ queue: 'default', limit: batch, starts: batch }], room: batch, suspect: true },
        tasks: ['noop'],
      })
      done += leases.length
      leases = answer.leases
    }
  }
  await Promise.all([loop('raw 1'), loop('raw 2')])
  const seconds = (performance.now() - begunAt) / 1_000
  await db.close()
  return { seconds, turns }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}

async function bench(url: string) {
  await migrate({ url, schema })
  const db = new Database({ url, schema, poolSize: 1 })
  const ratios = []
  try {
    for (const concurrency of [10, 100, 1_000]) {
      const [workers, raws]: [Run[], Run[]] = [[], []]
      for (let round = 0; round < rounds; round++) {
        const worker = await measured(db, jobsPerRun, () => workerRun(url, concurrency, jobsPerRun, 0))
        const raw = await measured(db, jobsPerRun, () => rawRun(url, Math.max(1, Math.round(worker.batch)), jobsPerRun))
        workers.push(worker)
        raws.push(raw)
        const rate = (run: Run) => `${Math.round(run.jobs / run.seconds)}/s`
        say(`concurrency ${concurrency}: worker ${rate(worker)} (batch ${Math.round(worker.batch)}), raw ${rate(raw)}`)
      }
      ratios.push({
        name: `no-op jobs at concurrency ${concurrency}, worker / raw loop`,
        value: median(workers.map((run, i) => (raws[i] as Run).seconds / run.seconds)),
        goal: 0.5,
        jobsPerSecond: Math.round(median(workers.map((run) => run.jobs / run.seconds))),
        rawPerSecond: Math.round(median(raws.map((run) => run.jobs / run.seconds))),
        batch: Math.round(median(workers.map((run) => run.batch))),
        walBytesPerJob: Math.round(median(workers.map((run) => run.walBytes / run.jobs))),
        statementsPerJob: median(workers.map((run) => 1 / run.batch)),
        commitsPerJob: median(workers.map((run) => run.commits / run.jobs)),
      })
    }
    const share = []
    for (let round = 0; round < rounds; round++) {
      const run = await measured(db, jobsPerRun, () => workerRun(url, 100, jobsPerRun, 5))
      share.push(((run.jobs / 100) * 0.005) / run.seconds)
    }
    ratios.push({ name: '5 ms jobs at concurrency 100, share of the ideal', value: median(share), goal: undefined })
  } finally {
    await db.once(`drop schema if exists ${schema} cascade`)
    await db.close()
  }
  return ratios
}

const directory = await mkdtemp(join(tmpdir(), 'fencepost-bench-'))
const server = process.env['DATABASE_URL'] ? undefined : await joinEmbeddedServer({ directory })
try {
  const figures = await bench(process.env['DATABASE_URL'] ?? (server as NonNullable<typeof server>).url)
  if (given.json) console.log(JSON.stringify({ figures }, null, 2))
  else console.table(figures)
} finally {
  await server?.leave()
  await rm(directory, { recursive: true, force: true })
}
