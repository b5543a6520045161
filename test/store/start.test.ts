import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { claim, loseExpired, start } from '../../src/store/lease.js'
import { byJob, leaseIsFree, ofAnotherJob, ofAnotherLease } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { forged, setup } from '../harness/setup.js'

const startedAt = 'select started_at from fencepost.leased order by lease_id'

it('marks a lease as started', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take({ started: false })
  expect(await sql(startedAt)).toEqual([{ started_at: null }])

  expect(await start(db, [lease])).toEqual([
    { jobId: lease.jobId, leaseId: lease.leaseId, answer: 'started', cancelRequested: false },
  ])
  expect(await sql(startedAt)).toEqual([{ started_at: expect.any(Date) as Date }])
})

it('asked again, answers started and keeps the time of the first', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const lease = await take()
  const first = await sql(startedAt)
  await advance(1_000)

  expect(await start(db, [lease])).toMatchObject([{ answer: 'started' }])
  expect(await sql(startedAt)).toEqual(first)
})

it('refuses a fence with another nonce', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take({ started: false })

  expect(await start(db, [forged(lease)])).toMatchObject([{ answer: 'stale', cancelRequested: false }])
  expect(await sql(startedAt)).toEqual([{ started_at: null }])
})

it('refuses a fence with another lease', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take({ started: false })

  expect(await start(db, [ofAnotherLease(lease)])).toMatchObject([{ answer: 'stale' }])
  expect(await sql(startedAt)).toEqual([{ started_at: null }])
})

it('refuses a fence with another job', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take({ started: false })

  expect(await start(db, [ofAnotherJob(lease, await add())])).toMatchObject([{ answer: 'stale' }])
  expect(await sql(startedAt)).toEqual([{ started_at: null }])
})

it('refuses a lost lease: its job may be running elsewhere', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const old = await take({ started: false })
  await advance(31_000)
  await loseExpired(db)
  await take({ worker: 'w2', started: false })

  expect(await start(db, [old])).toMatchObject([{ answer: 'stale' }])
  expect(await sql(startedAt)).toEqual([{ started_at: null }])
})

it('tells of a cancel that was requested', async () => {
  const { db, add, take } = await setup()
  const id = await add()
  const lease = await take({ started: false })
  await cancel(db, [id], null)

  expect(await start(db, [lease])).toMatchObject([{ answer: 'started', cancelRequested: true }])
})

it('answers each member of a batch for itself', async () => {
  const { db, add, take } = await setup()
  const [first, second] = [await add(), await add()]
  const [held, other] = [await take({ started: false }), await take({ started: false })]

  expect(byJob(await start(db, [held, forged(other)]))).toEqual({ [first]: 'started', [second]: 'stale' })
})

it('tells two fences apart that differ only in the nonce, within one batch', async () => {
  const { db, add, take } = await setup()
  await add()
  const lease = await take({ started: false })

  const answers = await start(db, [forged(lease), lease])

  expect(answers.map(({ answer }) => answer).sort()).toEqual(['stale', 'started'])
})

it('waits for a loss in flight: stale when it commits', async () => {
  const bundle = await setup()
  await bundle.add()
  const lease = await bundle.take({ started: false })
  const [reaper, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.advance(31_000)
  await reaper.begin()
  await loseExpired(reaper)

  const answer = start(worker, [lease])
  await untilBlocked(bundle.sql, worker.pid, answer)
  await reaper.commit()

  expect(await answer).toMatchObject([{ answer: 'stale' }])
})

it('waits for a loss in flight: started when it rolls back', async () => {
  const bundle = await setup()
  await bundle.add()
  const lease = await bundle.take({ started: false })
  const [reaper, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.advance(31_000)
  await reaper.begin()
  await loseExpired(reaper)

  const answer = start(worker, [lease])
  await untilBlocked(bundle.sql, worker.pid, answer)
  await reaper.rollback()

  expect(await answer).toMatchObject([{ answer: 'started' }])
})

it('holds no higher lease while it waits for a lower one', async () => {
  const bundle = await setup()
  await bundle.add()
  await bundle.add()
  const leases = await claim(bundle.db, { queue: 'default', limit: 2, worker: 'w1' })
  const [holder, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query(leaseIsFree, [leases[0]?.leaseId])

  const waiting = start(worker, leases.toReversed())
  await untilBlocked(bundle.sql, worker.pid, waiting)
  expect(await bundle.sql(leaseIsFree, [leases[1]?.leaseId])).toEqual([{ free: true }])
  await holder.rollback()

  expect(await waiting).toMatchObject([{ answer: 'started' }, { answer: 'started' }])
})
