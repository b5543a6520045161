import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { byJob, leaseIsFree, ofAnotherJob, ofAnotherLease } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { takeSpokenOf } from '../harness/old-snapshot.js'
import { isolations, Session } from '../harness/session.js'
import { forged, setup } from '../harness/setup.js'

it('gives a job back at no charge, started or not, and logs why', async () => {
  const { db, add, take, see, placesOf, sql } = await setup()
  const id = await add()
  await release(db, [await take({ started: false })], 'no room')
  const lease = await take()

  expect(await release(db, [lease], 'shutdown')).toEqual([
    { jobId: id, leaseId: lease.leaseId, answer: 'released', outcome: null },
  ])

  expect(await placesOf(id)).toEqual(['ready'])
  expect(await see(id)).toMatchObject({ place: 'ready', tries: 2, failures: 0, losses: 0, releases: 2 })
  expect(
    await sql(
      'select ending, reason, worker, started_at is not null as started from fencepost.attempt order by lease_id',
    ),
  ).toEqual([
    { ending: 'released', reason: 'no room', worker: 'w1', started: false },
    { ending: 'released', reason: 'shutdown', worker: 'w1', started: true },
  ])
})

it('gives a job back to its old place in the line', async () => {
  const { db, add, take } = await setup()
  const first = await add()
  await add()

  await release(db, [await take()], 'no room')

  expect(await take()).toMatchObject({ jobId: first })
})

it('has no budget', async () => {
  const { db, add, take, see } = await setup()
  const id = await add({ failuresMax: 0, lossesMax: 0 })

  for (let i = 0; i < 10; i++) {
    expect(await release(db, [await take()], 'no room')).toMatchObject([{ answer: 'released' }])
  }

  expect(await see(id)).toMatchObject({ place: 'ready', tries: 10, failures: 0, losses: 0, releases: 10 })
})

it('ends the job when a cancel was requested', async () => {
  const { db, add, take, see, placesOf } = await setup()
  const id = await add()
  const lease = await take()
  await cancel(db, [id], null)

  expect(await release(db, [lease], 'cancelled')).toMatchObject([{ answer: 'cancelled', outcome: 'cancelled' }])

  expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(id)).toMatchObject({ outcome: 'cancelled', releases: 1, reason: 'cancel_requested' })
})

it('answers already to the same lease, whatever came of it, and counts once', async () => {
  const { db, add, take, see } = await setup()
  const [ready, cancelled] = [await add(), await add()]
  const leases = [await take(), await take()]
  await cancel(db, [cancelled], null)
  expect(byJob(await release(db, leases, 'no room'))).toEqual({ [ready]: 'released', [cancelled]: 'cancelled' })

  const again = await release(db, leases, 'no room')

  expect(byJob(again)).toEqual({ [ready]: 'already', [cancelled]: 'already' })
  expect(new Map(again.map(({ jobId, outcome }) => [jobId, outcome])).get(cancelled)).toBe('cancelled')
  for (const id of [ready, cancelled]) expect(await see(id)).toMatchObject({ releases: 1 })
})

it('is stale after the lease ended otherwise, and keeps what was said', async () => {
  const { db, add, take, see, sql } = await setup()
  const [finished, failed] = [await add(), await add({ failuresMax: 0 })]
  const [a, b] = [await take(), await take()]
  await finish(db, [{ ...a, resultText: '1' }])
  await fail(db, [{ ...b, errorText: '1', delayMs: 0, final: false }])

  const answers = await release(db, [a, b], 'shutdown')

  expect(byJob(answers)).toEqual({ [finished]: 'stale', [failed]: 'stale' })
  expect(new Map(answers.map(({ jobId, outcome }) => [jobId, outcome]))).toEqual(
    new Map([
      [finished, 'succeeded'],
      [failed, 'failed'],
    ]),
  )
  expect(await see(finished)).toMatchObject({ place: 'finished', releases: 0 })
  expect(await sql('select late_ending from fencepost.attempt')).toEqual([
    { late_ending: 'released' },
    { late_ending: 'released' },
  ])
})

it('refuses a lost lease and does not touch the newer attempt', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add()
  const old = await take()
  await advance(31_000)
  await loseExpired(db)
  await take({ worker: 'w2' })

  expect(await release(db, [old], 'shutdown')).toMatchObject([{ answer: 'stale', outcome: null }])
  expect(await see(id)).toMatchObject({ place: 'leased', releases: 0, losses: 1 })
})

it('refuses a fence with another nonce', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()

  expect(await release(db, [forged(await take())], 'x')).toMatchObject([{ answer: 'stale' }])
  expect(await placesOf(id)).toEqual(['leased'])
})

it('refuses a fence with another lease', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()

  expect(await release(db, [ofAnotherLease(await take())], 'x')).toMatchObject([{ answer: 'stale' }])
  expect(await placesOf(id)).toEqual(['leased'])
})

it('refuses a fence with another job', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  const lease = await take()

  expect(await release(db, [ofAnotherJob(lease, await add())], 'x')).toMatchObject([{ answer: 'stale' }])
  expect(await placesOf(id)).toEqual(['leased'])
})

it('tells two fences apart that differ only in the nonce, within one batch', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()

  const answers = await release(db, [forged(lease), lease], 'x')

  expect(answers.map(({ answer }) => answer).sort()).toEqual(['released', 'stale'])
  expect(await see(id)).toMatchObject({ place: 'ready', releases: 1 })
})

it('answers each member of a batch for itself', async () => {
  const { db, add, take } = await setup()
  const [kept, over, stale] = [await add(), await add(), await add()]
  const leases = [await take(), await take(), forged(await take())]
  await cancel(db, [over], null)

  expect(byJob(await release(db, leases, 'x'))).toEqual({ [kept]: 'released', [over]: 'cancelled', [stale]: 'stale' })
})

describe('while a first try is in flight', () => {
  async function twice() {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    expect(await release(first, [lease], 'x')).toMatchObject([{ answer: 'released' }])
    const repeat = release(second, [lease], 'x')
    await untilBlocked(bundle.sql, second.pid, repeat)
    return { ...bundle, id, first, repeat }
  }

  it('waits, and answers already when it commits', async () => {
    const { id, first, repeat, see, sql } = await twice()
    await first.commit()

    expect(await repeat).toMatchObject([{ answer: 'already', outcome: null }])
    expect(await see(id)).toMatchObject({ place: 'ready', releases: 1 })
    expect(await sql('select late_ending from fencepost.attempt')).toEqual([{ late_ending: null }])
  })

  it('waits, and gives the job back when it rolls back', async () => {
    const { id, first, repeat, see } = await twice()
    await first.rollback()

    expect(await repeat).toMatchObject([{ answer: 'released' }])
    expect(await see(id)).toMatchObject({ place: 'ready', releases: 1 })
  })
})

it('waits for a cancel in flight and honours it', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  const [person, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await person.begin()
  await cancel(person, [id], null)

  const answer = release(worker, [lease], 'shutdown')
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

  const waiting = release(worker, leases.toReversed(), 'x')
  await untilBlocked(bundle.sql, worker.pid, waiting)
  expect(await bundle.sql(leaseIsFree, [leases[1]?.leaseId])).toEqual([{ free: true }])
  await holder.rollback()

  expect(await waiting).toMatchObject([{ answer: 'released' }, { answer: 'released' }])
})

it.each(isolations)('in a transaction at %s, is undone by a rollback', async (isolation) => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  const caller = await Session.open(bundle)
  await caller.begin(isolation)
  expect(await release(caller, [lease], 'x')).toMatchObject([{ answer: 'released' }])
  await caller.rollback()

  expect(await bundle.see(id)).toMatchObject({ place: 'leased', releases: 0 })
})

it('ends a lease of which a transaction with an older snapshot has said something', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await takeSpokenOf(bundle)

  expect(await release(bundle.db, [lease], 'no room')).toMatchObject([{ answer: 'released' }])
  expect(await bundle.see(id)).toMatchObject({ place: 'ready', releases: 1 })
  expect(await bundle.sql('select ending, reason, late_ending from fencepost.attempt')).toEqual([
    { ending: 'released', reason: 'no room', late_ending: null },
  ])
})
