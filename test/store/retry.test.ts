import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel, retryEnded } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish } from '../../src/store/settle.js'
import { byJob } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { aboveReadCommitted, isolations, Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

const failure = { errorText: '{"message":"no"}', delayMs: 0, final: false }

it('places a failed job again, and moves the old outcome to the log', async () => {
  const { db, add, take, see, placesOf, sql } = await setup()
  const id = await add({ failuresMax: 0 })
  await fail(db, [{ ...(await take()), ...failure }])

  expect(await retryEnded(db, [id])).toEqual([{ jobId: id, answer: 'retried', outcome: null }])

  expect(await placesOf(id)).toEqual(['ready'])
  expect(await see(id)).toMatchObject({ place: 'ready', outcome: null, tries: 1, failures: 1 })
  expect(
    await sql('select ending, outcome, reason, error, retried_at is not null as retried from fencepost.attempt'),
  ).toEqual([
    { ending: 'failed', outcome: 'failed', reason: 'failures_exhausted', error: { message: 'no' }, retried: true },
  ])
})

it('logs the outcome of a job that no lease ended', async () => {
  const { db, add, sql, placesOf } = await setup()
  const id = await add()
  await cancel(db, [id], 'by hand')
  await retryEnded(db, [id])
  await cancel(db, [id], 'again')

  expect(await retryEnded(db, [id])).toMatchObject([{ answer: 'retried' }])

  expect(await placesOf(id)).toEqual(['ready'])
  expect(
    await sql(
      'select ending, outcome, reason, claimed_at, retried_at is not null as retried from fencepost.attempt order by lease_id',
    ),
  ).toEqual([
    { ending: 'cancelled', outcome: 'cancelled', reason: 'by hand', claimed_at: null, retried: true },
    { ending: 'cancelled', outcome: 'cancelled', reason: 'again', claimed_at: null, retried: true },
  ])
  expect((await audit(db)).findings).toEqual([])
})

it('grants the failures anew, on top of counters that go on', async () => {
  const { db, add, take, see } = await setup()
  const id = await add({ failuresMax: 1 })
  for (const answer of ['retrying', 'failed']) {
    expect(await fail(db, [{ ...(await take()), ...failure }])).toMatchObject([{ answer }])
  }
  await retryEnded(db, [id])

  for (const answer of ['retrying', 'failed']) {
    expect(await fail(db, [{ ...(await take()), ...failure }])).toMatchObject([{ answer }])
  }

  expect(await see(id)).toMatchObject({ outcome: 'failed', tries: 4, failures: 4 })
  expect((await audit(db)).findings).toEqual([])
})

it('grants the losses anew, on top of counters that go on', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add({ lossesMax: 1 })
  const lose = async () => {
    await take()
    await advance(31_000)
    return loseExpired(db)
  }
  for (const answer of ['lost', 'failed']) expect(await lose()).toMatchObject([{ answer }])
  await retryEnded(db, [id])

  for (const answer of ['lost', 'failed']) expect(await lose()).toMatchObject([{ answer }])

  expect(await see(id)).toMatchObject({ outcome: 'failed', losses: 4 })
})

it('leaves a succeeded job alone: that is final', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  await finish(db, [{ ...(await take()), resultText: '1' }])

  expect(await retryEnded(db, [id])).toEqual([{ jobId: id, answer: 'succeeded', outcome: 'succeeded' }])
  expect(await placesOf(id)).toEqual(['finished'])
})

it('answers each member of a batch for itself, and each id once', async () => {
  const { db, add, take } = await setup()
  const [succeeded, cancelled, leased, ready] = [await add(), await add(), await add(), await add()]
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await cancel(db, [cancelled], null)
  await take()
  const { id: unknown } = aJob()

  const answers = await retryEnded(db, [unknown, ready, leased, cancelled, succeeded, cancelled])

  expect(answers).toHaveLength(5)
  expect(byJob(answers)).toEqual({
    [unknown]: 'missing',
    [ready]: 'unfinished',
    [leased]: 'unfinished',
    [cancelled]: 'retried',
    [succeeded]: 'succeeded',
  })
})

it('by two people at once, happens once', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  await cancel(bundle.db, [id], null)
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  await first.begin()
  expect(await retryEnded(first, [id])).toMatchObject([{ answer: 'retried' }])

  const other = retryEnded(second, [id])
  await untilBlocked(bundle.sql, second.pid, other)
  await first.commit()

  expect(await other).toEqual([{ jobId: id, answer: 'unfinished', outcome: null }])
  expect(await bundle.placesOf(id)).toEqual(['ready'])
  expect(await bundle.sql('select 1 from fencepost.attempt')).toHaveLength(1)
})

it('by two people at once, is done by the second when the first rolls back', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  await cancel(bundle.db, [id], null)
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  await first.begin()
  await retryEnded(first, [id])

  const other = retryEnded(second, [id])
  await untilBlocked(bundle.sql, second.pid, other)
  await first.rollback()

  expect(await other).toMatchObject([{ answer: 'retried' }])
  expect(await bundle.placesOf(id)).toEqual(['ready'])
})

it('keeps a late word about the attempt whose outcome it undid', async () => {
  const { db, add, take, sql, see } = await setup()
  const id = await add({ failuresMax: 0 })
  const lease = await take()
  await fail(db, [{ ...lease, ...failure }])
  await retryEnded(db, [id])

  expect(await finish(db, [{ ...lease, resultText: '"after all"' }])).toMatchObject([
    { answer: 'stale', outcome: null },
  ])
  expect(await fail(db, [{ ...lease, ...failure }])).toMatchObject([{ answer: 'already', outcome: null }])

  expect(await see(id)).toMatchObject({ place: 'ready', failures: 1 })
  expect(await sql('select ending, outcome, late_ending, late from fencepost.attempt')).toEqual([
    { ending: 'failed', outcome: 'failed', late_ending: 'succeeded', late: 'after all' },
  ])
})

it.each(aboveReadCommitted)(
  'by two people at once at %s, is a serialization failure for the second',
  async (isolation) => {
    const bundle = await setup()
    const id = await bundle.add()
    await cancel(bundle.db, [id], null)
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    await retryEnded(first, [id])
    await second.begin(isolation)

    const other = retryEnded(bundle.db, [id], second.client)
    await untilBlocked(bundle.sql, second.pid, other)
    await first.commit()

    await expect(other).rejects.toMatchObject({ cause: { code: '40001' } })
  },
)

it.each(isolations)('in a caller’s transaction at %s, is undone by a rollback', async (isolation) => {
  const bundle = await setup()
  const id = await bundle.add()
  await cancel(bundle.db, [id], null)
  const caller = await Session.open(bundle)
  await caller.begin(isolation)
  expect(await retryEnded(bundle.db, [id], caller.client)).toMatchObject([{ answer: 'retried' }])
  await caller.rollback()

  expect(await bundle.see(id)).toMatchObject({ place: 'finished', outcome: 'cancelled' })
  expect(await bundle.sql('select 1 from fencepost.attempt')).toEqual([])
})

it('holds no higher id while it waits for a lower one, so that two cannot deadlock', async () => {
  const bundle = await setup()
  const [low, high] = [await bundle.add(), await bundle.add()].sort() as [string, string]
  await cancel(bundle.db, [low, high], null)
  const [holder, person] = [await Session.open(bundle), await Session.open(bundle)]
  const free = 'select true as free from fencepost.finished where job_id = $1 for update skip locked'
  await holder.begin()
  await holder.query(free, [low])

  const waiting = retryEnded(person, [high, low])
  await untilBlocked(bundle.sql, person.pid, waiting)
  expect(await bundle.sql(free, [high])).toEqual([{ free: true }])
  await holder.rollback()

  expect(byJob(await waiting)).toEqual({ [low]: 'retried', [high]: 'retried' })
})
