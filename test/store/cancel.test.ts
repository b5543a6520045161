import { describe, expect, it } from 'vitest'
import { cancel, promoteDue, retryEnded, wake } from '../../src/store/control.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { byJob, leaseIsFree } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { aboveReadCommitted, isolations, Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

const one = { queue: 'default', limit: 1, worker: 'w1' }

it('ends a job that is ready, delayed or parked, with its counters and the reason', async () => {
  const { db, add, take, see, placesOf, sql } = await setup()
  const parked = await add()
  await park(db, await take(), 'go', null)
  const delayed = await add()
  await fail(db, [{ ...(await take()), errorText: '1', delayMs: 60_000, final: false }])
  const ready = await add()

  const answers = await cancel(db, [ready, delayed, parked], 'not needed')

  expect(byJob(answers)).toEqual({ [ready]: 'cancelled', [delayed]: 'cancelled', [parked]: 'cancelled' })
  expect(answers.every(({ outcome }) => outcome === 'cancelled')).toBe(true)
  for (const id of [ready, delayed, parked]) expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(ready)).toMatchObject({ outcome: 'cancelled', tries: 0, reason: 'not needed' })
  expect(await see(delayed)).toMatchObject({ outcome: 'cancelled', tries: 1, failures: 1 })
  expect(await see(parked)).toMatchObject({ outcome: 'cancelled', tries: 1, failures: 0 })
  expect(await sql('select distinct lease_id, nonce, worker from fencepost.finished')).toEqual([
    { lease_id: null, nonce: null, worker: null },
  ])
})

it('only flags a job that runs, and keeps the time of the first request', async () => {
  const { db, add, take, advance, placesOf, sql } = await setup()
  const id = await add()
  await take()
  const flag = 'select cancel_requested_at from fencepost.leased'

  expect(await cancel(db, [id], null)).toEqual([
    { jobId: id, answer: 'requested', outcome: null, task: 'test', queue: 'default' },
  ])
  const first = await sql(flag)
  await advance(1_000)

  expect(await cancel(db, [id], null)).toMatchObject([{ answer: 'requested' }])
  expect(first).toEqual([{ cancel_requested_at: expect.any(Date) as Date }])
  expect(await sql(flag)).toEqual(first)
  expect(await placesOf(id)).toEqual(['leased'])
})

it('answers how a finished job ended, and changes nothing', async () => {
  const { db, add, take, see } = await setup()
  const [succeeded, cancelled] = [await add(), await add()]
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await cancel(db, [cancelled], 'first')

  const answers = await cancel(db, [succeeded, cancelled], 'second')

  expect(byJob(answers)).toEqual({ [succeeded]: 'finished', [cancelled]: 'finished' })
  expect(new Map(answers.map(({ jobId, outcome }) => [jobId, outcome]))).toEqual(
    new Map([
      [succeeded, 'succeeded'],
      [cancelled, 'cancelled'],
    ]),
  )
  expect(await see(cancelled)).toMatchObject({ reason: 'first' })
})

it('answers missing for a job that does not exist, and each id once', async () => {
  const { db, add } = await setup()
  const id = await add()
  const { id: unknown } = aJob()

  const answers = await cancel(db, [id, unknown, id], null)

  expect(answers).toHaveLength(2)
  expect(byJob(answers)).toEqual({ [id]: 'cancelled', [unknown]: 'missing' })
})

describe('follows a job that hops while it waits', () => {
  async function hop(move: (session: Session) => Promise<unknown>, prepare: (bundle: Bundle) => Promise<string>) {
    const bundle = await setup()
    const id = await prepare(bundle)
    const [mover, person] = [await Session.open(bundle), await Session.open(bundle)]
    await mover.begin()
    await move(mover)
    const answer = cancel(person, [id], null)
    await untilBlocked(bundle.sql, person.pid, answer)
    await mover.commit()
    return { ...bundle, id, answer: (await answer)[0] }
  }
  type Bundle = Awaited<ReturnType<typeof setup>>

  it('from leased to delayed, and ends it there', async () => {
    let lease: Awaited<ReturnType<Bundle['take']>>
    const { id, answer, placesOf } = await hop(
      (session) => fail(session, [{ ...lease, errorText: '1', delayMs: 60_000, final: false }]),
      async ({ add, take }) => {
        const added = await add()
        lease = await take()
        return added
      },
    )

    expect(answer).toMatchObject({ answer: 'cancelled', outcome: 'cancelled' })
    expect(await placesOf(id)).toEqual(['finished'])
  })

  it('from ready to leased, and flags it there', async () => {
    const { id, answer, sql, placesOf } = await hop(
      (session) => claim(session, one),
      ({ add }) => add(),
    )

    expect(answer).toMatchObject({ answer: 'requested' })
    expect(await placesOf(id)).toEqual(['leased'])
    expect(await sql('select cancel_requested_at is not null as flagged from fencepost.leased')).toEqual([
      { flagged: true },
    ])
  })

  it('from delayed to ready, and ends it there', async () => {
    const { id, answer, placesOf } = await hop(
      (session) => promoteDue(session),
      async ({ add, advance }) => {
        const added = await add({ delayMs: 1_000 })
        await advance(2_000)
        return added
      },
    )

    expect(answer).toMatchObject({ answer: 'cancelled' })
    expect(await placesOf(id)).toEqual(['finished'])
  })

  it('from parked to ready, and ends it there', async () => {
    let id = ''
    const { answer, placesOf } = await hop(
      (session) => wake(session, id, 'go', '1'),
      async ({ db, add, take }) => {
        id = await add()
        await park(db, await take(), 'go', null)
        return id
      },
    )

    expect(answer).toMatchObject({ answer: 'cancelled' })
    expect(await placesOf(id)).toEqual(['finished'])
  })

  it('from leased to ready by a loss, and ends it there', async () => {
    const { id, answer, placesOf } = await hop(
      (session) => loseExpired(session),
      async ({ add, take, advance }) => {
        const added = await add()
        await take()
        await advance(31_000)
        return added
      },
    )

    expect(answer).toMatchObject({ answer: 'cancelled' })
    expect(await placesOf(id)).toEqual(['finished'])
  })

  it('from leased to finished, and answers how it ended', async () => {
    let lease: Awaited<ReturnType<Bundle['take']>>
    const { id, answer, see } = await hop(
      (session) => finish(session, [{ ...lease, resultText: '1' }]),
      async ({ add, take }) => {
        const added = await add()
        lease = await take()
        return added
      },
    )

    expect(answer).toMatchObject({ answer: 'finished', outcome: 'succeeded' })
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', reason: null })
  })
})

it('ends the job where it was when the move that it waits for rolls back', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const [worker, person] = [await Session.open(bundle), await Session.open(bundle)]
  await worker.begin()
  await claim(worker, one)

  const answer = cancel(person, [id], null)
  await untilBlocked(bundle.sql, person.pid, answer)
  await worker.rollback()

  expect(await answer).toMatchObject([{ answer: 'cancelled' }])
  expect(await bundle.placesOf(id)).toEqual(['finished'])
})

it.each(aboveReadCommitted)('at %s, a hop while it waits is a serialization failure', async (isolation) => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  const [worker, person] = [await Session.open(bundle), await Session.open(bundle)]
  await worker.begin()
  await release(worker, [lease], 'x')
  await person.begin(isolation)

  const answer = cancel(bundle.db, [id], null, person.client)
  await untilBlocked(bundle.sql, person.pid, answer)
  await worker.commit()

  await expect(answer).rejects.toMatchObject({ cause: { code: '40001' } })
  expect(await bundle.placesOf(id)).toEqual(['ready'])
})

it.each(isolations)('in a caller’s transaction at %s, is undone by a rollback', async (isolation) => {
  const bundle = await setup()
  const [ready, leased] = [await bundle.add({ priority: 1 }), await bundle.add()]
  await bundle.take()
  const caller = await Session.open(bundle)
  await caller.begin(isolation)
  expect(byJob(await cancel(bundle.db, [ready, leased], null, caller.client))).toEqual({
    [ready]: 'cancelled',
    [leased]: 'requested',
  })
  await caller.rollback()

  expect(await bundle.placesOf(ready)).toEqual(['ready'])
  expect(await bundle.sql('select cancel_requested_at from fencepost.leased')).toEqual([{ cancel_requested_at: null }])
})

it('sees a retry in flight as not yet done', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  await cancel(bundle.db, [id], null)
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  await first.begin()
  await retryEnded(first, [id])

  expect(await cancel(second, [id], null)).toMatchObject([{ answer: 'finished', outcome: 'cancelled' }])
  await first.commit()
  expect(await cancel(second, [id], null)).toMatchObject([{ answer: 'cancelled' }])
})

it('holds no higher lease while it waits for a lower one, so that it cannot deadlock with a settle', async () => {
  const bundle = await setup()
  const [a, b] = [aJob().id, aJob().id].sort() as [string, string]
  // The job with the smaller id has the higher lease.
  await bundle.add({ id: a, priority: 2 })
  await bundle.add({ id: b, priority: 1 })
  const [low, high] = await claim(bundle.db, { ...one, limit: 2 })
  expect([low?.jobId, high?.jobId]).toEqual([b, a])
  const [holder, person] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query(leaseIsFree, [low?.leaseId])

  const waiting = cancel(person, [a, b], null)
  await untilBlocked(bundle.sql, person.pid, waiting)
  expect(await bundle.sql(leaseIsFree, [high?.leaseId])).toEqual([{ free: true }])
  await holder.rollback()

  expect(byJob(await waiting)).toEqual({ [a]: 'requested', [b]: 'requested' })
})

it('holds no higher id while it waits for a lower one, so that two cannot deadlock', async () => {
  const bundle = await setup()
  const [low, high] = [await bundle.add(), await bundle.add()].sort() as [string, string]
  const [holder, person] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query('select 1 from fencepost.ready where job_id = $1 for update', [low])

  const waiting = cancel(person, [high, low], null)
  await untilBlocked(bundle.sql, person.pid, waiting)
  expect(await cancel(bundle.db, [high], null)).toMatchObject([{ answer: 'cancelled' }])
  await holder.rollback()

  expect(byJob(await waiting)).toEqual({ [low]: 'cancelled', [high]: 'finished' })
})

it('says so when a job is in no place at all', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const person = await Session.open(bundle)
  await bundle.sql('delete from fencepost.ready')
  await person.query('set statement_timeout = 5000')

  await expect(cancel(person, [id], null)).rejects.toMatchObject({
    code: 'FP_DATABASE_ERROR',
    message: expect.stringContaining('is in no place') as string,
  })
})

it('keeps the reason of the first request for the end of a job that runs', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()
  await cancel(db, [id], 'the order was withdrawn')
  await cancel(db, [id], 'another reason')

  await release(db, [lease], 'cancelled')

  expect(await see(id)).toMatchObject({ outcome: 'cancelled', reason: 'the order was withdrawn' })
})
