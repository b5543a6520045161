import pg from 'pg'
import { expect, it as test, onTestFinished } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { fencepost, type FencepostOptions, type JobContext, NonRetryable, task } from '../../src/index.js'
import { Database } from '../../src/store/database.js'
import { hasPgBouncer, startPgBouncer } from '../harness/pgbouncer.js'
import { anything, door, setupWorker } from './setup.js'

// The reason for a skip is in the name.
const it = hasPgBouncer ? test : test.skip
const installed = hasPgBouncer ? '' : ' (not installed here: apt-get install pgbouncer)'

/** A client of which every connection goes through a PgBouncer in transaction mode; the helpers go around it. */
async function setupPooled() {
  const bundle = await setupWorker()
  const pooled = await startPgBouncer(bundle.url)
  const client = async (options: FencepostOptions = {}) => {
    const fp = await fencepost({ database: pooled, migrate: false, ...options })
    onTestFinished(() => fp.close())
    return fp
  }
  await bundle.sql('create table effect (job_id uuid not null, kind text not null)')
  const fp = await client()
  const troubles: unknown[] = []
  fp.on('error', ({ error }) => troubles.push(error))
  return { ...bundle, pooled, client, fp, troubles }
}

type Pooled = Awaited<ReturnType<typeof setupPooled>>

const kinds = {
  commit: (job: JobContext) =>
    job.commit((tx) => tx.query(`insert into effect values ($1, 'commit')`, [job.id]).then(() => 'done')),
  serializable: (job: JobContext) =>
    job.commit((tx) => tx.query(`insert into effect values ($1, 'serializable')`, [job.id]).then(() => 'done'), {
      isolation: 'serializable',
    }),
  /** The first attempt's transaction is rolled back. */
  'commit, retried': (job: JobContext) =>
    job.commit(async (tx) => {
      await tx.query(`insert into effect values ($1, 'commit, retried')`, [job.id])
      if (job.attempt === 1) throw new Error('not yet')
      return 'done'
    }),
  /** The first attempt fails after its step, which the second does not repeat. */
  'step, retried': async (job: JobContext, sql: Pooled['sql']) => {
    const paid = await job.step('pay', async () => {
      await sql(`insert into effect values ($1, 'step, retried')`, [job.id])
      return 'done'
    })
    if (job.attempt === 1) throw new Error('not yet')
    return paid
  },
} as const
type Kind = keyof typeof kinds
const kindNames = Object.keys(kinds) as Kind[]

const jobsPerKind = 50

/** 200 jobs, one that is cancelled while it runs, and one that fails for good and is retried by hand. */
async function workThrough({ fp, sql, db, see }: Pooled, listen: false | string) {
  const charge = task('charge', {
    input: anything,
    retry: { limit: 1, delay: 1 },
    run: (kind, job) => kinds[kind as Kind](job, sql),
  })
  const gate = door()
  const endless = task('endless', { input: anything, lease: '1s', run: () => gate.pass() })
  let broken = true
  const fragile = task('fragile', {
    input: anything,
    run: () => {
      if (broken) throw new NonRetryable('broken')
      return 'mended'
    },
  })
  await fp.work([charge, endless, fragile], { listen, poll: '50ms', concurrency: 20 })

  const running = gate.reached()
  const cancelled = await fp.enqueue(endless, null)
  const retried = await fp.enqueue(fragile, null)
  const jobs = await fp.enqueueMany(
    charge,
    Array.from({ length: jobsPerKind }, () => kindNames.map((kind) => ({ input: kind }))).flat(),
  )
  await running
  expect(await fp.cancel(cancelled.id)).toMatchObject({ answer: 'requested' })
  await expect(retried.result({ timeout: '30s' })).rejects.toMatchObject({
    code: 'FP_JOB_NOT_SUCCEEDED',
    message: expect.stringContaining('failed') as string,
  })
  broken = false
  expect(await fp.retry(retried.id)).toMatchObject({ answer: 'retried' })

  expect(await Promise.all(jobs.map((job) => job.result({ timeout: '50s' })))).toEqual(jobs.map(() => 'done'))
  expect(await retried.result({ timeout: '30s' })).toBe('mended')
  await expect(cancelled.result({ timeout: '30s' })).rejects.toMatchObject({ code: 'FP_JOB_NOT_SUCCEEDED' })

  expect(await sql('select job_id from effect group by job_id having count(*) > 1')).toEqual([])
  expect(await sql('select kind, count(*)::int from effect group by kind order by kind')).toEqual(
    [...kindNames].sort().map((kind) => ({ kind, count: jobsPerKind })),
  )
  expect(await see(cancelled.id)).toMatchObject({ outcome: 'cancelled', losses: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
}

it(`works through PgBouncer in transaction mode by polling${installed}`, async () => {
  const pooled = await setupPooled()

  await workThrough(pooled, false)

  expect(pooled.troubles).toEqual([])
  expect(await pooled.sql('select queue from fencepost.sleeper')).toEqual([])
})

it(`works through PgBouncer in transaction mode, listening at the server itself${installed}`, async () => {
  const pooled = await setupPooled()

  await workThrough(pooled, pooled.url)

  expect(pooled.troubles).toEqual([])
})

it(`hears of a job at once where it listens at the server itself, and enqueues come through PgBouncer${installed}`, async () => {
  const { fp, client, url, sql } = await setupPooled()
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '1h', listen: url })
  await expect.poll(() => sql('select queue from fencepost.sleeper')).toEqual([{ queue: 'default' }])

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '20s' })).toBe('done')
})

it(`migrates, and enqueues in a transaction, through PgBouncer${installed}`, async () => {
  const { client, pooled } = await setupPooled()
  const fp = await client({ database: pooled, schema: 'pooled', migrate: true })
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '50ms', listen: false })

  const job = await fp.transaction((tx) => fp.enqueue(work, null, { tx }))

  expect(await job.result({ timeout: '20s' })).toBe('done')
})

it(`finds jobs by polling where it listens through PgBouncer, which lets LISTEN pass and no notice${installed}`, async () => {
  const { fp, client, sql, troubles } = await setupPooled()
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '200ms' })
  await expect.poll(() => sql('select queue from fencepost.sleeper')).toEqual([{ queue: 'default' }])

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '20s' })).toBe('done')
  expect(troubles).toEqual([])
})

it(`is one connection and several sessions: what these tests are about${installed}`, async () => {
  const { pooled } = await setupPooled()
  const [one, other] = [new pg.Client(pooled), new pg.Client(pooled)]
  for (const connection of [one, other]) {
    await connection.connect()
    onTestFinished(() => connection.end())
  }
  const session = async (connection: pg.Client) =>
    (await connection.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  await one.query('begin')
  const elsewhere = await session(other)
  await one.query('commit')

  const sessions = new Set([await session(one), await session(one)])

  expect(sessions.size).toBe(2)
  expect(sessions).toContain(elsewhere)
})

it(`prepares no statements in sessions that others use, too${installed}`, async () => {
  const { pooled } = await setupPooled()
  const db = new Database({ url: pooled, poolSize: 5 })
  onTestFinished(() => db.close())
  await db.prepareMoves()

  const found = await Promise.all(
    Array.from({ length: 20 }, () =>
      db.move<{ n: number }>(`select count(*) as n from pg_prepared_statements, fencepost.clock()`, () => []),
    ),
  )

  expect(found.flat()).toEqual(found.map(() => ({ n: 0 })))
})

it(`stores jobs that are copied${installed}`, async () => {
  const { fp, sql } = await setupPooled()
  const noop = task('noop', { input: anything, run: async () => null })

  const jobs = await fp.enqueueMany(
    noop,
    Array.from({ length: 2_500 }, (_, n) => ({ input: { n } })),
  )

  expect(
    await sql(`select j.id from fencepost.ready r join fencepost.job j on j.id = r.job_id and j.seq = r.seq
               order by (j.payload ->> 'n')::integer`),
  ).toEqual(jobs.map(({ id }) => ({ id })))
})
