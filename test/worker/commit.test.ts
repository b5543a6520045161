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

it('commits at serializable: its lease is held to the deadline, and no heartbeat comes between', async () => {
  const { fp, sql, see } = await setupEffects()
  const gate = door()
  const witness = task('witness', { input: anything, lease: '1s', run: () => gate.pass() })
  let runs = 0
  const pay = task('pay', {
    input: anything,
    lease: '1s',
    timeout: '20s',
    run: (_, job) =>
      job.commit(
        async (tx) => {
          runs++
          await tx.query('insert into effect values ($1)', [job.id])
          // Heartbeats go on meanwhile: the witness has been extended twice.
          const extended = () =>
            sql<{ at: Date }>(`select expires_at as at from fencepost.leased where task = 'witness'`)
          for (let times = 0, last = await extended(); times < 2; ) {
            const now = await extended()
            if (now[0]?.at.getTime() !== last[0]?.at.getTime()) times++
            last = now
          }
          return 'paid'
        },
        { isolation: 'serializable' },
      ),
  })
  const reached = gate.reached()
  await fp.work([witness, pay], soon)
  await fp.enqueue(witness, null)
  await reached

  const job = await fp.enqueue(pay, null)

  expect(await job.result({ timeout: '20s' })).toBe('paid')
  expect(runs).toBe(1)
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, losses: 0 })
  gate.open()
})

it('runs the work of a commit again after a serialization failure, and only the last counts', async () => {
  const { fp, sql, see } = await setupEffects()
  await sql('create table account (cents integer); insert into account values (0)')
  let runs = 0
  const pay = task('pay', {
    input: anything,
    run: (_, job) =>
      job.commit(
        async (tx) => {
          await tx.query('select cents from account')
          if (++runs === 1) await sql('update account set cents = cents + 1')
          await tx.query('update account set cents = cents + 10')
          return runs
        },
        { isolation: 'repeatable read' },
      ),
  })
  await fp.work([pay], soon)

  const job = await fp.enqueue(pay, null)

  expect(await job.result({ timeout: '10s' })).toBe(2)
  expect(await sql('select cents from account')).toEqual([{ cents: 11 }])
  expect(await see(job.id)).toMatchObject({ tries: 1, failures: 0 })
})

it('refuses a commit above read committed in a task without a timeout', async () => {
  const { fp } = await setupEffects()
  const pay = task('pay', {
    input: anything,
    timeout: false,
    retry: { limit: 0 },
    run: (_, job) => job.commit(async () => 'paid', { isolation: 'serializable' }),
  })
  await fp.work([pay], soon)

  const job = await fp.enqueue(pay, null)

  await expect(job.result({ timeout: '10s' })).rejects.toThrow(/needs a timeout on task pay/)
})
