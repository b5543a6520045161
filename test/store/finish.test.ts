import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { claim, extend, loseExpired } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { leaseIsFree, ofAnotherJob, ofAnotherLease } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { takeSpokenOf } from '../harness/old-snapshot.js'
import { aboveReadCommitted, isolations, Session } from '../harness/session.js'
import { aJob, forged, setup } from '../harness/setup.js'

it('ends a job as succeeded, with its result and no attempt row for a first try', async () => {
  const { db, add, take, see, placesOf, sql } = await setup()
  const id = await add()
  const lease = await take()

  const [answer] = await finish(db, [{ ...lease, resultText: '{"ok":true}' }])

  expect(answer).toMatchObject({ answer: 'finished', outcome: 'succeeded', duplicate: false })
  expect(await see(id)).toMatchObject({
    place: 'finished',
    outcome: 'succeeded',
    tries: 1,
    failures: 0,
    losses: 0,
    releases: 0,
  })
  expect(await placesOf(id)).toEqual(['finished'])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: { ok: true } }])
})

it('answers already to the same lease, and changes nothing', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take()
  await finish(db, [{ ...lease, resultText: '1' }])

  const [answer] = await finish(db, [{ ...lease, resultText: '2' }])

  expect(answer).toMatchObject({ answer: 'already', outcome: 'succeeded', duplicate: false })
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: 1 }])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
})

it('refuses a lease whose nonce is another', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  const lease = await take()

  const [answer] = await finish(db, [{ ...forged(lease), resultText: '1' }])

  expect(answer).toMatchObject({ answer: 'stale', outcome: null })
  expect(await placesOf(id)).toEqual(['leased'])
})

it('refuses a lost lease, keeps what it said, and does not touch the newer attempt', async () => {
  const { db, add, take, advance, placesOf, sql } = await setup()
  const id = await add()
  const old = await take({ worker: 'old' })
  await advance(31_000)
  await loseExpired(db)
  const current = await take({ worker: 'new' })

  const [late] = await finish(db, [{ ...old, resultText: '"late"' }])
  expect(late).toMatchObject({ answer: 'stale', outcome: null, duplicate: false })
  expect(await placesOf(id)).toEqual(['leased'])

  const [done] = await finish(db, [{ ...current, resultText: '"good"' }])
  expect(done).toMatchObject({ answer: 'finished', duplicate: true })
  expect(await sql('select ending, late_ending, late, worker from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'lost', late_ending: 'succeeded', late: 'late', worker: 'old' },
    { ending: 'succeeded', late_ending: null, late: null, worker: 'new' },
  ])
})

it('is not undone by a later fail of the same lease', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()
  await finish(db, [{ ...lease, resultText: '1' }])

  const [answer] = await fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: false }])

  expect(answer).toMatchObject({ answer: 'stale', outcome: 'succeeded' })
  expect(await see(id)).toMatchObject({ place: 'finished', outcome: 'succeeded', failures: 0 })
})

it('settles a batch in which some are stale', async () => {
  const { db, add, take } = await setup()
  const ids = [await add(), await add(), await add()]
  const leases = [await take(), await take(), await take()]
  await finish(db, [{ ...(leases[1] as (typeof leases)[0]), resultText: '1' }])

  const answers = await finish(
    db,
    leases.map((lease, i) => ({ ...(i === 2 ? forged(lease) : lease), resultText: '1' })),
  )

  expect(new Map(answers.map(({ jobId, answer }) => [jobId, answer]))).toEqual(
    new Map([
      [ids[0], 'finished'],
      [ids[1], 'already'],
      [ids[2], 'stale'],
    ]),
  )
})

it('refuses a fence with another lease', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  const lease = await take()

  expect(await finish(db, [{ ...ofAnotherLease(lease), resultText: '1' }])).toMatchObject([
    { answer: 'stale', outcome: null },
  ])
  expect(await placesOf(id)).toEqual(['leased'])
})

it('refuses a fence with another job', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  const lease = await take()
  const other = await add()

  expect(await finish(db, [{ ...ofAnotherJob(lease, other), resultText: '1' }])).toMatchObject([{ answer: 'stale' }])
  expect(await placesOf(id)).toEqual(['leased'])
  expect(await placesOf(other)).toEqual(['ready'])
})

it('tells two fences apart that differ only in the nonce, within one batch', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take()
  const other = forged(lease)

  const answers = await finish(db, [
    { ...other, resultText: '"theirs"' },
    { ...lease, resultText: '"ours"' },
  ])

  expect(answers.map(({ answer }) => answer).sort()).toEqual(['finished', 'stale'])
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: 'ours' }])
  expect(await sql('select nonce, late from fencepost.attempt')).toEqual([{ nonce: other.nonce, late: 'theirs' }])
})

it('takes the same lease twice in one batch as one', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  const item = { ...(await take()), resultText: '1' }

  await finish(db, [item, item])

  expect(await placesOf(id)).toEqual(['finished'])
  expect(await finish(db, [])).toEqual([])
})

it('keeps a result of which nothing else is known', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = forged(await take())

  await finish(db, [{ ...lease, resultText: '"first"' }])
  await finish(db, [{ ...lease, resultText: '"second"' }])

  expect(await sql('select nonce, ending, late_ending, late from fencepost.attempt')).toEqual([
    { nonce: lease.nonce, ending: 'unknown', late_ending: 'succeeded', late: 'first' },
  ])
})

it('keeps nothing of a job that does not exist', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const { id } = aJob()

  expect(await finish(db, [{ ...ofAnotherJob(await take(), id), resultText: '1' }])).toMatchObject([
    { jobId: id, answer: 'stale', outcome: null, duplicate: false },
  ])
  expect(await sql('select 1 from fencepost.attempt')).toEqual([])
})

it('keeps the first thing that a stale worker says', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const lease = await take()
  await advance(31_000)
  await loseExpired(db)

  await fail(db, [{ ...lease, errorText: '"no"', delayMs: 0, final: false }])
  await finish(db, [{ ...lease, resultText: '"yes"' }])

  expect(await sql('select ending, late_ending, late from fencepost.attempt')).toEqual([
    { ending: 'lost', late_ending: 'failed', late: 'no' },
  ])
})

it('logs a success that was not the first try', async () => {
  const { db, add, take, see, sql } = await setup()
  const id = await add()
  await release(db, [await take()], 'no room')

  await finish(db, [{ ...(await take()), resultText: '1' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 2, releases: 1 })
  expect(await sql('select ending from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'released' },
    { ending: 'succeeded' },
  ])
})

it('wins over a cancel that was requested and not yet honoured, and says so', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()
  await cancel(db, [id], null)

  expect(await finish(db, [{ ...lease, resultText: '1' }])).toMatchObject([
    { answer: 'finished', outcome: 'succeeded' },
  ])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', reason: 'cancel_came_too_late' })
})

it('says duplicate for as long as it is true: to the finish, to its repeat, and to whoever comes late', async () => {
  const { db, add, take, advance } = await setup()
  await add({ lossesMax: 9 })
  const late = []
  for (let i = 0; i < 3; i++) {
    late.push({ ...(await take()), resultText: '1' })
    await advance(31_000)
    await loseExpired(db)
  }
  const current = { ...(await take()), resultText: '1' }
  const [first, second, third] = late as [(typeof late)[0], (typeof late)[0], (typeof late)[0]]

  expect(await finish(db, [first])).toMatchObject([{ answer: 'stale', duplicate: false }])
  expect(await finish(db, [first])).toMatchObject([{ answer: 'stale', duplicate: false }])
  expect(await finish(db, [second])).toMatchObject([{ answer: 'stale', duplicate: true }])
  expect(await finish(db, [current])).toMatchObject([{ answer: 'finished', duplicate: true }])
  expect(await finish(db, [current])).toMatchObject([{ answer: 'already', duplicate: true }])
  expect(await finish(db, [third])).toMatchObject([{ answer: 'stale', duplicate: true, outcome: 'succeeded' }])
})

it('stores nothing of a batch with a result that is no JSON', async () => {
  const { db, add, take, placesOf } = await setup()
  const ids = [await add(), await add()]
  const leases = [await take(), await take()]

  await expect(
    finish(
      db,
      leases.map((lease, i) => ({ ...lease, resultText: i === 0 ? '1' : '{' })),
    ),
  ).rejects.toMatchObject({ code: 'FP_INPUT_NOT_JSON' })

  for (const id of ids) expect(await placesOf(id)).toEqual(['leased'])
})

describe('while a first try is in flight', () => {
  async function twice() {
    const bundle = await setup()
    const id = await bundle.add()
    const item = { ...(await bundle.take()), resultText: '1' }
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    await first.begin()
    expect(await finish(first, [item])).toMatchObject([{ answer: 'finished' }])
    const repeat = finish(second, [{ ...item, resultText: '2' }])
    await untilBlocked(bundle.sql, second.pid, repeat)
    return { ...bundle, id, first, repeat }
  }

  it('waits, and answers already when it commits', async () => {
    const { first, repeat, sql } = await twice()
    await first.commit()

    expect(await repeat).toMatchObject([{ answer: 'already', outcome: 'succeeded', duplicate: false }])
    expect(await sql('select result from fencepost.finished')).toEqual([{ result: 1 }])
    expect(await sql('select 1 from fencepost.attempt')).toEqual([])
  })

  it('waits, and ends the job when it rolls back, at the time after the wait', async () => {
    const { first, repeat, advance, sql } = await twice()
    await advance(20_000)
    const [before] = await sql<{ now: Date }>('select fencepost.clock() as now')
    await first.rollback()

    expect(await repeat).toMatchObject([{ answer: 'finished' }])
    expect(await sql('select result, finished_at >= $1 as after from fencepost.finished', [before?.now])).toEqual([
      { result: 2, after: true },
    ])
  })
})

it('waits for a loss in flight: stale when it commits', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const item = { ...(await bundle.take()), resultText: '1' }
  const [reaper, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.advance(31_000)
  await reaper.begin()
  await loseExpired(reaper)

  const answer = finish(worker, [item])
  await untilBlocked(bundle.sql, worker.pid, answer)
  await reaper.commit()

  expect(await answer).toMatchObject([{ answer: 'stale', outcome: null }])
  expect(await bundle.see(id)).toMatchObject({ place: 'ready', losses: 1 })
  expect(await bundle.sql('select ending, late_ending from fencepost.attempt')).toEqual([
    { ending: 'lost', late_ending: 'succeeded' },
  ])
})

it('waits for a cancel in flight and then wins over it', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const item = { ...(await bundle.take()), resultText: '1' }
  const [person, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await person.begin()
  await cancel(person, [id], null)

  const answer = finish(worker, [item])
  await untilBlocked(bundle.sql, worker.pid, answer)
  await person.commit()

  expect(await answer).toMatchObject([{ answer: 'finished' }])
  expect(await bundle.see(id)).toMatchObject({ outcome: 'succeeded', reason: 'cancel_came_too_late' })
})

it('holds no higher lease while it waits for a lower one', async () => {
  const bundle = await setup()
  await bundle.add()
  await bundle.add()
  const leases = await claim(bundle.db, { queue: 'default', limit: 2, worker: 'w1' })
  const [holder, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query(leaseIsFree, [leases[0]?.leaseId])

  const waiting = finish(worker, leases.map((lease) => ({ ...lease, resultText: '1' })).reverse())
  await untilBlocked(bundle.sql, worker.pid, waiting)
  expect(await bundle.sql(leaseIsFree, [leases[1]?.leaseId])).toEqual([{ free: true }])
  await holder.rollback()

  expect(await waiting).toMatchObject([{ answer: 'finished' }, { answer: 'finished' }])
})

it.each(isolations)('commits together with what else a caller’s transaction at %s writes', async (isolation) => {
  const bundle = await setup()
  await bundle.sql('create table effect (n int)')
  const id = await bundle.add()
  const item = { ...(await bundle.take()), resultText: '1' }
  const caller = await Session.open(bundle)

  await caller.begin(isolation)
  await caller.query('insert into effect values (1)')
  expect(await finish(bundle.db, [item], caller.client)).toMatchObject([{ answer: 'finished' }])
  await caller.rollback()
  expect(await bundle.placesOf(id)).toEqual(['leased'])

  await caller.begin(isolation)
  await caller.query('insert into effect values (2)')
  await finish(bundle.db, [item], caller.client)
  expect(await caller.commit()).toBe('COMMIT')
  expect(await bundle.placesOf(id)).toEqual(['finished'])
  expect(await bundle.sql('select n from effect')).toEqual([{ n: 2 }])
})

it.each(aboveReadCommitted)(
  'in a transaction at %s that is older than a heartbeat, fails rather than guess',
  async (isolation) => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const caller = await Session.open(bundle)
    await caller.begin(isolation)
    await caller.query('select 1 from fencepost.leased')
    await extend(bundle.db, [lease])

    await expect(finish(bundle.db, [{ ...lease, resultText: '1' }], caller.client)).rejects.toMatchObject({
      cause: { code: '40001' },
    })
    expect(await caller.commit()).toBe('ROLLBACK')
    expect(await bundle.placesOf(id)).toEqual(['leased'])
  },
)

it('ends a lease of which a transaction with an older snapshot has said something', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  await release(bundle.db, [await bundle.take()], 'no room')
  const lease = await takeSpokenOf(bundle)

  expect(await finish(bundle.db, [{ ...lease, resultText: '"in time"' }])).toMatchObject([
    { answer: 'finished', duplicate: false },
  ])
  expect(await bundle.see(id)).toMatchObject({ outcome: 'succeeded', tries: 2 })
  expect(await bundle.sql('select ending, late_ending from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'released', late_ending: null },
    { ending: 'succeeded', late_ending: null },
  ])
})

it('in a transaction above READ COMMITTED, still keeps what it says of a lease that is known to have ended', async () => {
  const bundle = await setup()
  await bundle.add()
  const lost = await bundle.take()
  await bundle.advance(31_000)
  await loseExpired(bundle.db)
  const caller = await Session.open(bundle)
  await caller.begin('repeatable read')

  expect(await finish(caller, [{ ...lost, resultText: '"late"' }])).toMatchObject([{ answer: 'stale' }])
  await caller.commit()

  expect(await bundle.sql('select ending, late from fencepost.attempt')).toEqual([{ ending: 'lost', late: 'late' }])
})
