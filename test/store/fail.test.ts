import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import type { Fence } from '../../src/job/places.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { type Failure, fail, finish, release } from '../../src/store/settle.js'
import { byJob, leaseIsFree, ofAnotherJob, ofAnotherLease } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { takeSpokenOf } from '../harness/old-snapshot.js'
import { isolations, Session } from '../harness/session.js'
import { forged, setup } from '../harness/setup.js'

const failing = (fence: Fence, failure: Partial<Failure> = {}): Failure => ({
  jobId: fence.jobId,
  leaseId: fence.leaseId,
  nonce: fence.nonce,
  errorText: '{"message":"no"}',
  delayMs: 0,
  final: false,
  ...failure,
})

it('delays the next try, counts a failure, and logs the attempt', async () => {
  const { db, add, take, see, placesOf, sql } = await setup()
  const id = await add()
  const lease = await take()

  expect(await fail(db, [failing(lease, { delayMs: 5_000 })])).toEqual([
    { jobId: id, leaseId: lease.leaseId, answer: 'retrying', outcome: null },
  ])

  expect(await placesOf(id)).toEqual(['delayed'])
  expect(await see(id)).toMatchObject({ place: 'delayed', tries: 1, failures: 1, losses: 0, releases: 0 })
  expect(
    await sql(`select a.ending, a.error, a.worker, a.claimed_at is not null and a.started_at is not null as timed,
                      d.due_at - a.ended_at = interval '5 s' as due
               from fencepost.attempt a join fencepost.delayed d on d.job_id = a.job_id`),
  ).toEqual([{ ending: 'failed', error: { message: 'no' }, worker: 'w1', timed: true, due: true }])
})

it('places the job at once, in its old order, when there is no delay', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  await add()

  await fail(db, [failing(await take())])

  expect(await see(id)).toMatchObject({ place: 'ready', failures: 1 })
  expect(await take()).toMatchObject({ jobId: id, tries: 2, failures: 1 })
})

it('does not lose the job of a caller who names no delay', async () => {
  const { add, take, placesOf, sql } = await setup()
  const id = await add()
  const lease = await take()

  await sql('select * from fencepost.fail(array[$1::uuid], array[$2::bigint], array[$3::bigint], null, null, null)', [
    lease.jobId,
    lease.leaseId,
    lease.nonce,
  ])

  expect(await placesOf(id)).toEqual(['ready'])
})

it('ends the job when its failures are used up, and not before', async () => {
  const { db, add, take, see } = await setup()
  const id = await add({ failuresMax: 2 })
  for (const failures of [1, 2]) {
    expect(await fail(db, [failing(await take())])).toMatchObject([{ answer: 'retrying', outcome: null }])
    expect(await see(id)).toMatchObject({ place: 'ready', failures })
  }

  expect(await fail(db, [failing(await take())])).toMatchObject([{ answer: 'failed', outcome: 'failed' }])

  expect(await see(id)).toMatchObject({
    place: 'finished',
    outcome: 'failed',
    tries: 3,
    failures: 3,
    reason: 'failures_exhausted',
  })
})

it('charges neither losses nor releases to the failures', async () => {
  const { db, add, take, see, advance } = await setup()
  const id = await add({ failuresMax: 1, lossesMax: 5 })
  await take()
  await advance(31_000)
  await loseExpired(db)
  await release(db, [await take()], 'no room')

  expect(await fail(db, [failing(await take())])).toMatchObject([{ answer: 'retrying' }])
  expect(await see(id)).toMatchObject({ tries: 3, failures: 1, losses: 1, releases: 1 })
})

it('ends the job at once when the error is final', async () => {
  const { db, add, take, see, sql } = await setup()
  const id = await add()

  expect(await fail(db, [failing(await take(), { final: true, delayMs: 5_000 })])).toMatchObject([
    { answer: 'failed', outcome: 'failed' },
  ])

  expect(await see(id)).toMatchObject({ place: 'finished', failures: 1, reason: 'not_retryable' })
  expect(await sql('select error from fencepost.finished')).toEqual([{ error: { message: 'no' } }])
})

it('ends the job as cancelled when a cancel was requested, whatever is left of its budget', async () => {
  const { db, add, take, see, placesOf } = await setup()
  const id = await add()
  const lease = await take()
  await cancel(db, [id], null)

  expect(await fail(db, [failing(lease, { delayMs: 5_000 })])).toMatchObject([
    { answer: 'cancelled', outcome: 'cancelled' },
  ])

  expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(id)).toMatchObject({ outcome: 'cancelled', failures: 1, reason: 'cancel_requested' })
})

it('answers already to the same lease, whatever came of it, and counts once', async () => {
  const { db, add, take, see } = await setup()
  const [delayed, ended, cancelled] = [await add(), await add({ failuresMax: 0 }), await add()]
  const leases = [await take(), await take(), await take()]
  await cancel(db, [cancelled], null)
  const items = leases.map((lease) => failing(lease, { delayMs: 5_000 }))
  const first = await fail(db, items)
  expect(byJob(first)).toEqual({ [delayed]: 'retrying', [ended]: 'failed', [cancelled]: 'cancelled' })

  const again = await fail(db, items)

  expect(byJob(again)).toEqual({ [delayed]: 'already', [ended]: 'already', [cancelled]: 'already' })
  expect(again.map(({ outcome }) => outcome)).toEqual(first.map(({ outcome }) => outcome))
  for (const id of [delayed, ended, cancelled]) expect(await see(id)).toMatchObject({ failures: 1 })
})

it('is stale after the lease was finished or released, and keeps what was said', async () => {
  const { db, add, take, see, sql } = await setup()
  const [finished, released] = [await add(), await add()]
  const [a, b] = [await take(), await take()]
  await finish(db, [{ ...a, resultText: '1' }])
  await release(db, [b], 'no room')

  const answers = await fail(db, [failing(a), failing(b)])

  expect(byJob(answers)).toEqual({ [finished]: 'stale', [released]: 'stale' })
  expect(await see(finished)).toMatchObject({ outcome: 'succeeded', failures: 0 })
  expect(await see(released)).toMatchObject({ place: 'ready', failures: 0, releases: 1 })
  expect(await sql('select ending, late_ending, late from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'succeeded', late_ending: 'failed', late: { message: 'no' } },
    { ending: 'released', late_ending: 'failed', late: { message: 'no' } },
  ])
})

it('refuses a lost lease and does not touch the newer attempt', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add()
  const old = await take()
  await advance(31_000)
  await loseExpired(db)
  await take({ worker: 'w2' })

  expect(await fail(db, [failing(old, { final: true })])).toMatchObject([{ answer: 'stale', outcome: null }])
  expect(await see(id)).toMatchObject({ place: 'leased', failures: 0, losses: 1 })
})

it('refuses a fence with another nonce', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()

  expect(await fail(db, [failing(forged(await take()))])).toMatchObject([{ answer: 'stale' }])
  expect(await see(id)).toMatchObject({ place: 'leased', failures: 0 })
})

it('refuses a fence with another lease', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()

  expect(await fail(db, [failing(ofAnotherLease(await take()))])).toMatchObject([{ answer: 'stale' }])
  expect(await see(id)).toMatchObject({ place: 'leased', failures: 0 })
})

it('refuses a fence with another job', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()

  expect(await fail(db, [failing(ofAnotherJob(lease, await add()))])).toMatchObject([{ answer: 'stale' }])
  expect(await see(id)).toMatchObject({ place: 'leased', failures: 0 })
})

it('tells two fences apart that differ only in the nonce, within one batch', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()

  const answers = await fail(db, [failing(forged(lease)), failing(lease)])

  expect(answers.map(({ answer }) => answer).sort()).toEqual(['retrying', 'stale'])
  expect(await see(id)).toMatchObject({ failures: 1 })
})

it('judges each member of a batch for itself', async () => {
  const { db, add, take, see } = await setup()
  const [again, over, stale] = [await add(), await add({ failuresMax: 0 }), await add()]
  const leases = [await take(), await take(), forged(await take())]

  const answers = await fail(
    db,
    leases.map((lease) => failing(lease)),
  )

  expect(byJob(answers)).toEqual({ [again]: 'retrying', [over]: 'failed', [stale]: 'stale' })
  expect(await see(stale)).toMatchObject({ place: 'leased', failures: 0 })
})

describe('while a first try is in flight', () => {
  async function twice() {
    const bundle = await setup()
    const id = await bundle.add()
    const item = failing(await bundle.take(), { delayMs: 5_000 })
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    expect(await fail(first, [item])).toMatchObject([{ answer: 'retrying' }])
    const repeat = fail(second, [item])
    await untilBlocked(bundle.sql, second.pid, repeat)
    return { ...bundle, id, first, repeat }
  }

  it('waits, and answers already when it commits', async () => {
    const { id, first, repeat, see, sql } = await twice()
    await first.commit()

    expect(await repeat).toMatchObject([{ answer: 'already', outcome: null }])
    expect(await see(id)).toMatchObject({ place: 'delayed', failures: 1 })
    expect(await sql('select late_ending from fencepost.attempt')).toEqual([{ late_ending: null }])
  })

  it('waits, and delays the job from the time after the wait when it rolls back', async () => {
    const { first, repeat, advance, sql } = await twice()
    await advance(60_000)
    await first.rollback()

    expect(await repeat).toMatchObject([{ answer: 'retrying' }])
    expect(await sql('select failures, due_at > fencepost.clock() as ahead from fencepost.delayed')).toEqual([
      { failures: 1, ahead: true },
    ])
  })
})

it('waits for a cancel in flight and honours it', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const item = failing(await bundle.take())
  const [person, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await person.begin()
  await cancel(person, [id], null)

  const answer = fail(worker, [item])
  await untilBlocked(bundle.sql, worker.pid, answer)
  await person.commit()

  expect(await answer).toMatchObject([{ answer: 'cancelled', outcome: 'cancelled' }])
})

it('holds no higher lease while it waits for a lower one', async () => {
  const bundle = await setup()
  await bundle.add()
  await bundle.add()
  const leases = await claim(bundle.db, { queue: 'default', limit: 2, worker: 'w1' })
  const [holder, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query(leaseIsFree, [leases[0]?.leaseId])

  const waiting = fail(worker, leases.map((lease) => failing(lease)).reverse())
  await untilBlocked(bundle.sql, worker.pid, waiting)
  expect(await bundle.sql(leaseIsFree, [leases[1]?.leaseId])).toEqual([{ free: true }])
  await holder.rollback()

  expect(await waiting).toMatchObject([{ answer: 'retrying' }, { answer: 'retrying' }])
})

it.each(isolations)('in a caller’s transaction at %s, is undone by a rollback', async (isolation) => {
  const bundle = await setup()
  const id = await bundle.add()
  const item = failing(await bundle.take())
  const caller = await Session.open(bundle)
  await caller.begin(isolation)
  expect(await fail(bundle.db, [item], caller.client)).toMatchObject([{ answer: 'retrying' }])
  await caller.rollback()
  expect(await bundle.see(id)).toMatchObject({ place: 'leased', failures: 0 })

  await caller.begin(isolation)
  await fail(bundle.db, [item], caller.client)
  expect(await caller.commit()).toBe('COMMIT')
  expect(await bundle.see(id)).toMatchObject({ place: 'ready', failures: 1 })
})

it('ends a lease of which a transaction with an older snapshot has said something', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await takeSpokenOf(bundle)

  expect(await fail(bundle.db, [failing(lease)])).toMatchObject([{ answer: 'retrying' }])
  expect(await bundle.see(id)).toMatchObject({ place: 'ready', failures: 1 })
  expect(await bundle.sql('select ending, error, late_ending from fencepost.attempt')).toEqual([
    { ending: 'failed', error: { message: 'no' }, late_ending: null },
  ])
})
