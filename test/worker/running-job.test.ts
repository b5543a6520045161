import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { FencepostError, task } from '../../src/index.js'
import { Database } from '../../src/store/database.js'
import type { ClaimedLease } from '../../src/store/lease.js'
import { type Attempt, RunningJob } from '../../src/worker/running-job.js'
import { untilBlockedBy } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'
import { anything, door } from './setup.js'

const definition = task('test', { input: anything, timeout: '10m', run: () => {} })

/** A lease as its handler has it, on a connection that can be cut. */
async function setupJob() {
  const bundle = await setup()
  await bundle.sql('create table effect (by text)')
  const proxy = await FaultProxy.start(bundle.url)
  const db = new Database({ url: proxy.url })
  onTestFinished(() => db.close())
  const stop = new AbortController()
  const id = await bundle.add()
  const attemptOf = (lease: ClaimedLease): Attempt => ({
    lease,
    signal: stop.signal,
    deadlineMs: performance.now() + 60_000,
    held: false,
    leaving: false,
  })
  const attempt = attemptOf(await bundle.take())
  return {
    ...bundle,
    id,
    proxy,
    stop,
    attempt,
    job: new RunningJob(db, definition, attempt, 1_000),
    /** The same job in its next attempt. */
    nextAttempt: async () => new RunningJob(db, definition, attemptOf(await bundle.take()), 1_000),
    lose: () =>
      bundle.sql(`do $$ begin update fencepost.lab_clock set offset_ms = offset_ms + 60000;
        perform fencepost.lose(); end $$`),
    effects: async () => (await bundle.sql<{ by: string }>('select by from effect')).map(({ by }) => by),
  }
}

let work: Awaited<ReturnType<typeof setupJob>>
beforeEach(async () => {
  work = await setupJob()
})

const insert = `insert into effect values ('a')`
const lost = { code: 'FP_LEASE_LOST' }

it('has committed once if the reply to its commit is lost', async () => {
  const { job, proxy, effects, id, see } = work
  const cut = proxy.loseReplyTo('finish_last')

  expect(await job.commit((tx) => tx.query(insert).then(() => 'done'))).toBe('done')

  await cut
  expect(job.ended).toBe('committed')
  expect(await effects()).toEqual(['a'])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded' })
})

it('does the work again if its commit never reached the server', async () => {
  const { job, proxy, effects, id, see } = work
  const cut = proxy.loseRequest('finish_last')

  expect(await job.commit((tx) => tx.query(insert).then(() => 'done'))).toBe('done')

  await cut
  expect(await effects()).toEqual(['a'])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded' })
})

it('does not do the work again after it was told to stop, nor takes it for done', async () => {
  const { job, proxy, stop, effects, id, see } = work
  void proxy.loseRequest('finish_last')
  let times = 0

  const committed = job.commit(async (tx) => {
    times++
    await tx.query(insert)
    stop.abort()
  })

  await expect(committed).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
  expect(times).toBe(1)
  expect(job.ended).toBeUndefined()
  expect(await effects()).toEqual([])
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('gives up a commit that always conflicts, and leaves its lease to heartbeats again', async () => {
  const { job, attempt } = work
  let times = 0

  const committed = job.commit(
    async (tx) => {
      if (++times > 9) throw new Error('there is no end of it')
      expect(attempt.held).toBe(true)
      await tx.query(`do $$ begin raise exception using errcode = '40001'; end $$`)
    },
    { isolation: 'serializable' },
  )

  await expect(committed).rejects.toMatchObject({ code: 'FP_DATABASE_ERROR' })
  expect(times).toBe(3)
  expect(attempt.held).toBe(false)
})

it('can lose its lease again after a commit that has failed', async () => {
  const { job, attempt, sql } = work
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no'; end $$;
    create trigger refuse before insert on fencepost.finished for each row execute function refuse()`)

  await expect(job.commit(async () => 'done')).rejects.toMatchObject({ code: 'FP_DATABASE_ERROR' })

  expect(attempt.leaving).toBe(false)
})

it('does not begin a commit above READ COMMITTED without its lease', async () => {
  const { job, lose } = work
  await lose()
  let begun = false

  const committed = job.commit(
    async () => {
      begun = true
    },
    { isolation: 'serializable' },
  )

  await expect(committed).rejects.toMatchObject(lost)
  expect(begun).toBe(false)
})

it('commits a result for what it is, whatever is in it', async () => {
  const { job, sql } = work
  const result = `'); drop table effect; --\\'`

  await job.commit(async () => result)

  expect(await sql('select result from fencepost.finished')).toEqual([{ result }])
  expect(await sql('select * from effect')).toEqual([])
})

it('commits a result that SQL would read as another', async () => {
  const { job, sql } = work

  await job.commit(async () => `it''s`)

  expect(await sql('select result from fencepost.finished')).toEqual([{ result: `it''s` }])
})

it('commits a result that speaks of the schema', async () => {
  const { job, sql } = work

  await job.commit(async () => ({ moved: 'from fencepost.ready to "fencepost".leased' }))

  expect(await sql('select result from fencepost.finished')).toEqual([
    { result: { moved: 'from fencepost.ready to "fencepost".leased' } },
  ])
})

it('does not take a commit for one whose work had already ended the transaction', async () => {
  const { job, id, see } = work

  await expect(job.commit((tx) => tx.query('rollback').then(() => 'done'))).rejects.toMatchObject({
    code: 'FP_TRANSACTION_ENDED',
  })

  expect(job.ended).toBeUndefined()
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('does not take a COMMIT for one that the server answers with ROLLBACK', async () => {
  const { job, id, see } = work

  const committed = job.commit((tx) => tx.query('select 1 / 0').catch(() => 'swallowed'))

  await expect(committed).rejects.toMatchObject({ code: 'FP_TRANSACTION_ROLLED_BACK' })
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('finishes once in a transaction of the caller’s', async () => {
  const { job, connect } = work
  const client = await connect()

  await job.finishIn(client, 'first')

  await expect(job.finishIn(client, 'second')).rejects.toMatchObject({ code: 'FP_JOB_COMMITTED' })
})

it('does not finish in a transaction of the caller’s without its lease', async () => {
  const { job, connect, lose } = work
  await lose()

  await expect(job.finishIn(await connect(), 'late')).rejects.toMatchObject(lost)

  expect(job.ended).toBeUndefined()
})

it('is leaving while it is parked, and no longer if that has failed', async () => {
  const { job, attempt, connect, url, sql } = work
  const holder = await Session.open({ url, connect })
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')

  // Not a wait: it parks the job in the database, and the holder's lock keeps that move on its way.
  const parked = job.sleep('nap', '1h').catch((error: unknown) => error)
  const pid = await untilBlockedBy(sql, holder)
  expect(attempt.leaving).toBe(true)
  await sql('select pg_cancel_backend($1)', [pid])

  expect(await parked).toMatchObject({ code: 'FP_DATABASE_ERROR' })
  expect(attempt.leaving).toBe(false)
  await holder.rollback()
})

it('is not parked without its lease', async () => {
  const { job, lose } = work
  await lose()

  await expect(job.sleep('nap', '1h')).rejects.toMatchObject(lost) // refused at once: nothing is waited for

  expect(job.ended).toBeUndefined()
})

it('asks at once about a step that threw: the attempt that began it is over with it', async () => {
  const { job, lose, nextAttempt } = work
  const step = job.step('pay', () => {
    throw new Error('no answer')
  })
  await expect(step).rejects.toThrow('no answer')
  await lose()
  const again = await nextAttempt()

  const paid = again.step('pay', () => 'paid again', { onAmbiguous: async () => ({ happened: true, result: 'paid' }) })

  expect(await paid).toBe('paid')
})

it('waits also for an attempt that took up a step which had not happened', async () => {
  const { job, lose, advance, nextAttempt } = work
  const [first, second] = [door(), door()]
  const reached = [first.reached(), second.reached()]
  void job.step('pay', () => first.pass()).catch(() => {})
  await reached[0]
  await lose()
  await advance(20 * 60_000)
  const notHappened = { onAmbiguous: async () => ({ happened: false }) as const }
  void (await nextAttempt()).step('pay', () => second.pass(), notHappened).catch(() => {})
  await reached[1]
  await lose()

  const third = (await nextAttempt()).step('pay', () => {}, notHappened)

  await expect(third).rejects.toMatchObject({ code: 'FP_JOB_PARKED' })
})

it('does not take the word of its work for it that it is stale', async () => {
  const { job, id, see } = work

  const committed = job.commit(async () => {
    throw new FencepostError('FP_LEASE_LOST', 'another job’s')
  })

  await expect(committed).rejects.toMatchObject(lost)
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('tells an attempt that has lost its lease that the result of its step is not kept', async () => {
  const { job, lose } = work

  await expect(job.step('pay', () => lose().then(() => 'paid'))).rejects.toMatchObject(lost)
})
