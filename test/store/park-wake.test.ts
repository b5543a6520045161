import { describe, expect, it } from 'vitest'
import { cancel, promoteDue, retryEnded, wake } from '../../src/store/control.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { finish, park, release } from '../../src/store/settle.js'
import { ofAnotherJob, ofAnotherLease } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { takeSpokenOf } from '../harness/old-snapshot.js'
import { aboveReadCommitted, Session } from '../harness/session.js'
import { aJob, forged, setup } from '../harness/setup.js'

const serialization = { cause: { code: '40001' } }

describe('park', () => {
  it('parks a job until a signal, at no charge, and logs the attempt', async () => {
    const { db, add, take, see, placesOf, sql } = await setup()
    const id = await add()

    expect(await park(db, await take(), 'approved', null)).toEqual({ answer: 'parked', payload: null, dueAt: null })

    expect(await placesOf(id)).toEqual(['parked'])
    expect(await see(id)).toMatchObject({ place: 'parked', tries: 1, failures: 0, losses: 0, releases: 0 })
    expect(await sql('select ending, reason from fencepost.attempt')).toEqual([
      { ending: 'parked', reason: 'approved' },
    ])
  })

  it('parks a job for a time, and goes on with the same time however often it is parked under that name', async () => {
    const { db, add, take, advance, placesOf } = await setup()
    const id = await add()
    const first = await park(db, await take(), 'nap', 60_000)
    expect(first).toMatchObject({ answer: 'parked', dueAt: expect.any(Date) as Date })
    await cancel(db, [id], null)
    await retryEnded(db, [id])
    await advance(30_000)

    expect(await park(db, await take(), 'nap', 60_000)).toEqual(first)
    await advance(30_000)
    expect(await promoteDue(db)).toEqual([{ jobId: id, place: 'parked' }])

    const lease = await take()
    expect(await park(db, lease, 'nap', 60_000)).toEqual({ ...first, answer: 'elapsed' })
    expect(await placesOf(id)).toEqual(['leased'])
    expect(await finish(db, [{ ...lease, resultText: '1' }])).toMatchObject([{ answer: 'finished' }])
  })

  it('answers already to the same lease, and parks once', async () => {
    const { db, add, take, placesOf, sql } = await setup()
    const id = await add()
    const lease = await take()
    await park(db, lease, 'go', null)

    expect(await park(db, lease, 'go', null)).toMatchObject({ answer: 'already' })
    expect(await placesOf(id)).toEqual(['parked'])
    expect(await sql('select late_ending from fencepost.attempt')).toEqual([{ late_ending: null }])
  })

  it('ends the job when a cancel was requested', async () => {
    const { db, add, take, see, placesOf } = await setup()
    const id = await add()
    const lease = await take()
    await cancel(db, [id], null)

    expect(await park(db, lease, 'go', null)).toMatchObject({ answer: 'cancelled' })

    expect(await placesOf(id)).toEqual(['finished'])
    expect(await see(id)).toMatchObject({ outcome: 'cancelled', reason: 'cancel_requested' })
    expect(await park(db, lease, 'go', null)).toMatchObject({ answer: 'already' })
  })

  it('refuses a fence with another nonce', async () => {
    const { db, add, take, placesOf, sql } = await setup()
    const id = await add()

    expect(await park(db, forged(await take()), 'go', null)).toMatchObject({ answer: 'stale' })
    expect(await placesOf(id)).toEqual(['leased'])
    expect(await sql('select late_ending, late from fencepost.attempt')).toEqual([
      { late_ending: 'parked', late: 'go' },
    ])
  })

  it('refuses a fence with another lease', async () => {
    const { db, add, take, placesOf } = await setup()
    const id = await add()

    expect(await park(db, ofAnotherLease(await take()), 'go', null)).toMatchObject({ answer: 'stale' })
    expect(await placesOf(id)).toEqual(['leased'])
  })

  it('refuses a fence with another job', async () => {
    const { db, add, take, placesOf } = await setup()
    const id = await add()
    const lease = await take()

    expect(await park(db, ofAnotherJob(lease, await add()), 'go', null)).toMatchObject({ answer: 'stale' })
    expect(await placesOf(id)).toEqual(['leased'])
  })

  it('leaves nothing in the mailbox for a stale worker: its time is not the newer attempt’s', async () => {
    const { db, add, take, advance } = await setup()
    await add()
    const old = await take()
    await advance(31_000)
    await loseExpired(db)
    const current = await take({ worker: 'w2' })

    expect(await park(db, old, 'nap', 0)).toMatchObject({ answer: 'stale' })
    expect(await park(db, current, 'nap', 60_000)).toMatchObject({ answer: 'parked' })
  })

  it('leaves nothing in the mailbox for a worker whose own finish in flight it waits for', async () => {
    const bundle = await setup()
    await bundle.add()
    const lease = await bundle.take()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    await finish(first, [{ ...lease, resultText: '1' }])

    const answer = park(second, lease, 'nap', 60_000)
    await untilBlocked(bundle.sql, second.pid, answer)
    await first.commit()

    expect(await answer).toMatchObject({ answer: 'stale' })
    expect(await bundle.sql('select 1 from fencepost.signal')).toEqual([])
  })

  it('is stale after the lease was released', async () => {
    const { db, add, take, see } = await setup()
    const id = await add()
    const lease = await take()
    await release(db, [lease], 'shutdown')

    expect(await park(db, lease, 'go', null)).toMatchObject({ answer: 'stale' })
    expect(await see(id)).toMatchObject({ place: 'ready', releases: 1 })
  })

  it('asked again while the first try is in flight, waits and answers already when it commits', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    await park(first, lease, 'go', 60_000)

    const repeat = park(second, lease, 'go', 60_000)
    await untilBlocked(bundle.sql, second.pid, repeat)
    await first.commit()

    expect(await repeat).toMatchObject({ answer: 'already' })
    expect(await bundle.placesOf(id)).toEqual(['parked'])
  })

  it('asked again while the first try is in flight, waits and parks when it rolls back', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    await park(first, lease, 'go', null)

    const repeat = park(second, lease, 'go', null)
    await untilBlocked(bundle.sql, second.pid, repeat)
    await first.rollback()

    expect(await repeat).toMatchObject({ answer: 'parked' })
    expect(await bundle.placesOf(id)).toEqual(['parked'])
  })

  it('does not tell a worker to go on whose first try has parked the job meanwhile', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    await park(first, lease, 'nap', 10_000)

    const repeat = park(second, lease, 'nap', 10_000)
    await untilBlocked(bundle.sql, second.pid, repeat)
    await bundle.advance(20_000)
    await first.commit()

    expect(await repeat).toMatchObject({ answer: 'already' })
    expect(await bundle.placesOf(id)).toEqual(['parked'])
  })

  it('keeps its lease while it waits for the mailbox, so that no worker is told to go on without one', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [sender, worker] = [await Session.open(bundle), await Session.open(bundle)]
    await sender.begin()
    expect(await wake(sender, id, 'go', '1')).toBe('kept')

    const answer = park(worker, lease, 'go', null)
    await untilBlocked(bundle.sql, worker.pid, answer)
    await bundle.advance(31_000)
    expect(await loseExpired(bundle.db)).toEqual([])
    await sender.commit()

    expect(await answer).toMatchObject({ answer: 'signalled', payload: 1 })
    expect(await finish(bundle.db, [{ ...lease, resultText: '1' }])).toMatchObject([{ answer: 'finished' }])
  })

  it('ends a lease of which a transaction with an older snapshot has said something', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await takeSpokenOf(bundle)

    expect(await park(bundle.db, lease, 'go', null)).toMatchObject({ answer: 'parked' })
    expect(await bundle.placesOf(id)).toEqual(['parked'])
    expect(await bundle.sql('select ending, late_ending from fencepost.attempt')).toEqual([
      { ending: 'parked', late_ending: null },
    ])
  })

  it('waits for a cancel in flight and honours it', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [person, worker] = [await Session.open(bundle), await Session.open(bundle)]
    await person.begin()
    await cancel(person, [id], null)

    const answer = park(worker, lease, 'go', null)
    await untilBlocked(bundle.sql, worker.pid, answer)
    await person.commit()

    expect(await answer).toMatchObject({ answer: 'cancelled' })
    expect(await bundle.placesOf(id)).toEqual(['finished'])
  })
})

describe('wake', () => {
  it('wakes a job that waits for the signal, in its old order, and hands over the payload', async () => {
    const { db, add, take, placesOf } = await setup()
    const id = await add()
    await add()
    await park(db, await take(), 'go', null)

    expect(await wake(db, id, 'go', '{"by":"me"}')).toBe('woken')

    expect(await placesOf(id)).toEqual(['ready'])
    const lease = await take()
    expect(lease).toMatchObject({ jobId: id, tries: 2, releases: 0 })
    expect(await park(db, lease, 'go', null)).toMatchObject({ answer: 'signalled', payload: { by: 'me' } })
    expect(await placesOf(id)).toEqual(['leased'])
  })

  it('keeps a signal that comes before the job waits for it', async () => {
    const { db, add, take, placesOf } = await setup()
    const id = await add()
    expect(await wake(db, id, 'go', '1')).toBe('kept')

    expect(await park(db, await take(), 'go', 1_000)).toMatchObject({ answer: 'signalled', payload: 1 })
    expect(await placesOf(id)).toEqual(['leased'])
  })

  it('keeps a signal of another name, and does not wake the job', async () => {
    const { db, add, take, placesOf } = await setup()
    const id = await add()
    await park(db, await take(), 'go', null)

    expect(await wake(db, id, 'stop', '1')).toBe('kept')
    expect(await placesOf(id)).toEqual(['parked'])
  })

  it('lets the first signal of a name stand', async () => {
    const { db, add, take } = await setup()
    const id = await add()
    await wake(db, id, 'go', '"first"')

    expect(await wake(db, id, 'go', '"second"')).toBe('existing')
    expect(await park(db, await take(), 'go', null)).toMatchObject({ answer: 'signalled', payload: 'first' })
  })

  it('says so when the job has ended, and when there is none', async () => {
    const { db, add, take, sql } = await setup()
    const id = await add()
    await finish(db, [{ ...(await take()), resultText: '1' }])

    expect(await wake(db, id, 'go', '1')).toBe('finished')
    expect(await wake(db, aJob().id, 'go', '1')).toBe('missing')
    expect(await sql('select 1 from fencepost.signal')).toEqual([])
  })

  it('takes the signal back when the job was cancelled while it waited', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    await park(bundle.db, await bundle.take(), 'go', null)
    const [person, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await person.begin()
    await cancel(person, [id], null)

    const answer = wake(sender, id, 'go', '1')
    await untilBlocked(bundle.sql, sender.pid, answer)
    await person.commit()

    expect(await answer).toBe('finished')
    expect(await bundle.sql('select sent_at, payload from fencepost.signal')).toEqual([
      { sent_at: null, payload: null },
    ])
  })

  it('wakes the job when a cancel that it waited for is rolled back', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    await park(bundle.db, await bundle.take(), 'go', null)
    const [person, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await person.begin()
    await cancel(person, [id], null)

    const answer = wake(sender, id, 'go', '1')
    await untilBlocked(bundle.sql, sender.pid, answer)
    await person.rollback()

    expect(await answer).toBe('woken')
    expect(await bundle.placesOf(id)).toEqual(['ready'])
  })

  it('sent twice at once, stands once', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    await park(bundle.db, await bundle.take(), 'go', null)
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    expect(await wake(first, id, 'go', '1')).toBe('woken')

    const repeat = wake(second, id, 'go', '2')
    await untilBlocked(bundle.sql, second.pid, repeat)
    await first.commit()

    expect(await repeat).toBe('existing')
    expect(await bundle.placesOf(id)).toEqual(['ready'])
    expect(await bundle.sql('select payload from fencepost.signal')).toEqual([{ payload: 1 }])
  })

  it('sent while a first try is in flight that rolls back, wakes the job', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    await park(bundle.db, await bundle.take(), 'go', null)
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    await wake(first, id, 'go', '1')

    const repeat = wake(second, id, 'go', '2')
    await untilBlocked(bundle.sql, second.pid, repeat)
    await first.rollback()

    expect(await repeat).toBe('woken')
    expect(await bundle.placesOf(id)).toEqual(['ready'])
  })
})

describe('neither misses the other', () => {
  it('when the job is just being parked as the signal comes', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [worker, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await worker.begin()
    await park(worker, lease, 'go', null)

    const answer = wake(sender, id, 'go', '1')
    await untilBlocked(bundle.sql, sender.pid, answer)
    await worker.commit()

    expect(await answer).toBe('woken')
    expect(await bundle.placesOf(id)).toEqual(['ready'])
  })

  it('when the signal is just being sent as the job parks', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [worker, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await sender.begin()
    expect(await wake(sender, id, 'go', '1')).toBe('kept')

    const answer = park(worker, lease, 'go', null)
    await untilBlocked(bundle.sql, worker.pid, answer)
    await sender.commit()

    expect(await answer).toMatchObject({ answer: 'signalled', payload: 1 })
    expect(await bundle.placesOf(id)).toEqual(['leased'])
  })

  it('when the signal is sent and taken back as the job parks', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [worker, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await sender.begin()
    await wake(sender, id, 'go', '1')

    const answer = park(worker, lease, 'go', null)
    await untilBlocked(bundle.sql, worker.pid, answer)
    await sender.rollback()

    expect(await answer).toMatchObject({ answer: 'parked' })
    expect(await wake(bundle.db, id, 'go', '1')).toBe('woken')
  })

  it('when the mailbox was there before', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    await park(bundle.db, await bundle.take(), 'go', 60_000)
    await cancel(bundle.db, [id], null)
    await retryEnded(bundle.db, [id])
    const lease = await bundle.take()
    const [worker, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await worker.begin()
    await park(worker, lease, 'go', null)

    const answer = wake(sender, id, 'go', '1')
    await untilBlocked(bundle.sql, sender.pid, answer)
    await worker.commit()

    expect(await answer).toBe('woken')
  })

  it.each(aboveReadCommitted)(
    'in a caller’s transaction at %s that began before the job was parked',
    async (isolation) => {
      const bundle = await setup()
      const id = await bundle.add()
      const lease = await bundle.take()
      const sender = await Session.open(bundle)
      await sender.begin(isolation)
      await sender.query('select 1 from fencepost.job')
      await park(bundle.db, lease, 'go', null)

      await expect(wake(bundle.db, id, 'go', '1', sender.client)).rejects.toMatchObject(serialization)
      await sender.rollback()

      await sender.begin(isolation)
      expect(await wake(bundle.db, id, 'go', '1', sender.client)).toBe('woken')
      await sender.commit()
      expect(await bundle.placesOf(id)).toEqual(['ready'])
    },
  )

  it('when its time has come as the signal comes', async () => {
    const bundle = await setup()
    const id = await bundle.add()
    await park(bundle.db, await bundle.take(), 'go', 10_000)
    await bundle.advance(10_000)
    const [maintenance, sender] = [await Session.open(bundle), await Session.open(bundle)]
    await maintenance.begin()
    expect(await promoteDue(maintenance)).toEqual([{ jobId: id, place: 'parked' }])

    const answer = wake(sender, id, 'go', '1')
    await untilBlocked(bundle.sql, sender.pid, answer)
    await maintenance.commit()

    expect(await answer).toBe('kept')
    const [lease] = await claim(bundle.db, { queue: 'default', limit: 1, worker: 'w1' })
    expect(await park(bundle.db, lease as NonNullable<typeof lease>, 'go', null)).toMatchObject({ answer: 'signalled' })
  })
})
