import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type JobContext, task } from '../../src/index.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

/** A table for effects, and a task that runs the given handler. */
async function setupEffects() {
  const bundle = await setupWorker()
  await bundle.sql('create table effect (by text)')
  return {
    ...bundle,
    aTask: (run: (job: JobContext) => Promise<unknown>) =>
      task('charge', { input: anything, retry: { limit: 1, delay: 1 }, run: (_, job) => run(job) }),
    effects: async () => (await bundle.sql<{ by: string }>('select by from effect')).map(({ by }) => by),
  }
}

it('commits the handler’s writes and the outcome together', async () => {
  const { fp, db, aTask, effects, see } = await setupEffects()
  const charge = aTask((job) =>
    job.commit(async (tx) => {
      await tx.query(`insert into effect values ('a')`)
      return { ok: true }
    }),
  )
  await fp.work([charge], soon)

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toEqual({ ok: true })
  expect(await effects()).toEqual(['a'])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0 })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('rolls the writes back when the work throws, and that is a failure', async () => {
  const { fp, aTask, effects, see } = await setupEffects()
  const charge = aTask((job) =>
    job.commit(async (tx) => {
      await tx.query(`insert into effect values ('${job.attempt}')`)
      if (job.attempt === 1) throw new Error('no')
    }),
  )
  await fp.work([charge], soon)

  const job = await fp.enqueue(charge, null)
  await job.result({ timeout: '10s' })

  expect(await effects()).toEqual(['2'])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 1 })
})

it('does not let what a handler throws after its commit undo the outcome', async () => {
  const { fp, aTask, effects, see } = await setupEffects()
  const charge = aTask(async (job) => {
    await job.commit((tx) => tx.query(`insert into effect values ('a')`).then(() => 'done'))
    throw new Error('afterwards')
  })
  await fp.work([charge], soon)

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toBe('done')
  expect(await effects()).toEqual(['a'])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0 })
})

it('refuses a second commit of one attempt and rolls it back', async () => {
  const { fp, aTask, effects } = await setupEffects()
  let code: unknown
  const charge = aTask(async (job) => {
    await job.commit((tx) => tx.query(`insert into effect values ('first')`).then(() => 'first'))
    await job
      .commit((tx) => tx.query(`insert into effect values ('second')`).then(() => 'second'))
      .catch((error: { code: string }) => {
        code = error.code
      })
  })
  await fp.work([charge], soon)

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toBe('first')
  await expect.poll(() => code).toBe('FP_JOB_COMMITTED')
  expect(await effects()).toEqual(['first'])
})

it('rolls back an attempt that lost its lease: one effect, one outcome, and what it said is kept', async () => {
  const { fp, client, db, aTask, effects, see, loseAll, sql } = await setupEffects()
  const other = await client()
  const gate = door()
  const late = aTask(async (job) => {
    await gate.pass()
    return job.commit((tx) => tx.query(`insert into effect values ('late')`).then(() => 'late'))
  })
  const quick = aTask((job) => job.commit((tx) => tx.query(`insert into effect values ('quick')`).then(() => 'quick')))
  const zombie = await fp.work([late], soon)
  const running = gate.reached()
  const job = await fp.enqueue(late, null)
  await running
  const stale = next(fp, 'stale')

  await loseAll()
  void zombie.stop()
  await other.work([quick], soon)
  expect(await other.result(job.id, { timeout: '10s' })).toBe('quick')
  gate.open()
  await stale

  expect(await effects()).toEqual(['quick'])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', losses: 1 })
  expect(await sql('select late_ending, late from fencepost.attempt where late_ending is not null')).toEqual([
    { late_ending: 'succeeded', late: 'late' },
  ])
  expect(await audit(db)).toMatchObject({ ok: true })
})

it('finishes in a transaction of the caller’s: with its commit, and not without', async () => {
  const { fp, url, aTask, effects, see } = await setupEffects()
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(() => pool.end())
  const charge = aTask(async (job) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query(`insert into effect values ('${job.attempt}')`)
      await job.finishIn(client, { attempt: job.attempt })
      await client.query(job.attempt === 1 ? 'rollback' : 'commit')
    } finally {
      client.release()
    }
  })
  await fp.work([charge], soon)
  const failed = next(fp, 'failed')

  const job = await fp.enqueue(charge, null)

  expect(await failed).toMatchObject({ attempt: 1, error: { code: 'FP_TRANSACTION_NOT_COMMITTED' } })
  expect(await job.result({ timeout: '10s' })).toEqual({ attempt: 2 })
  expect(await effects()).toEqual(['2'])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 1 })
})
