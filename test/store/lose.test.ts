import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel } from '../../src/store/control.js'
import { claim, extend, loseExpired, start } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { byJob } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { takeSpokenOf } from '../harness/old-snapshot.js'
import { pauseScansOfLeased } from '../harness/scan-pause.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'

it('leaves a lease that has not run out by the database’s clock', async () => {
  const { db, add, take, advance, placesOf } = await setup()
  const id = await add()
  await take()
  await advance(29_000)

  expect(await loseExpired(db)).toEqual([])
  expect(await placesOf(id)).toEqual(['leased'])
})

it('charges a loss to a job whose handler had started, and logs the attempt', async () => {
  const { db, add, take, advance, see, placesOf, sql } = await setup()
  const id = await add()
  const lease = await take()
  await advance(30_000)

  expect(await loseExpired(db)).toEqual([
    { jobId: id, leaseId: lease.leaseId, worker: 'w1', answer: 'lost', outcome: null },
  ])

  expect(await placesOf(id)).toEqual(['ready'])
  expect(await see(id)).toMatchObject({ place: 'ready', tries: 1, failures: 0, losses: 1, releases: 0 })
  expect(await sql('select ending, reason, worker from fencepost.attempt')).toEqual([
    { ending: 'lost', reason: 'lease_ran_out', worker: 'w1' },
  ])
})

it('charges nothing to a job whose handler had not started', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add({ lossesMax: 0 })
  await take({ started: false })
  await advance(30_000)

  expect(await loseExpired(db)).toMatchObject([{ answer: 'released', outcome: null }])

  expect(await see(id)).toMatchObject({ place: 'ready', tries: 1, losses: 0, releases: 1 })
  expect(await sql('select ending, reason from fencepost.attempt')).toEqual([
    { ending: 'released', reason: 'lease_ran_out_before_start' },
  ])
})

it('ends a job when its losses are used up, and not before', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add({ lossesMax: 1 })
  await take()
  await advance(31_000)
  expect(await loseExpired(db)).toMatchObject([{ answer: 'lost', outcome: null }])
  await take()
  await advance(31_000)

  expect(await loseExpired(db)).toMatchObject([{ answer: 'failed', outcome: 'failed' }])

  expect(await see(id)).toMatchObject({
    place: 'finished',
    outcome: 'failed',
    tries: 2,
    losses: 2,
    failures: 0,
    reason: 'losses_exhausted',
  })
})

it('charges neither failures nor releases to the losses', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add({ lossesMax: 1 })
  await fail(db, [{ ...(await take()), errorText: '1', delayMs: 0, final: false }])
  await release(db, [await take()], 'no room')
  await take()
  await advance(31_000)

  expect(await loseExpired(db)).toMatchObject([{ answer: 'lost' }])
  expect(await see(id)).toMatchObject({ tries: 3, failures: 1, releases: 1, losses: 1 })
})

it('ends a job as cancelled when a cancel was requested, started or not', async () => {
  const { db, add, take, advance, see } = await setup()
  const [started, waiting] = [await add(), await add()]
  await take()
  await take({ started: false })
  await cancel(db, [started, waiting], null)
  await advance(31_000)

  expect(byJob(await loseExpired(db))).toEqual({ [started]: 'cancelled', [waiting]: 'cancelled' })

  expect(await see(started)).toMatchObject({ outcome: 'cancelled', losses: 1, releases: 0, reason: 'cancel_requested' })
  expect(await see(waiting)).toMatchObject({ outcome: 'cancelled', losses: 0, releases: 1 })
})

it('gives the job back to its old place in the line', async () => {
  const { db, add, take, advance } = await setup()
  const first = await add()
  await add()
  await take()
  await advance(31_000)
  await loseExpired(db)

  expect(await take()).toMatchObject({ jobId: first })
})

it('takes the oldest leases first, up to its limit', async () => {
  const { db, add, take, advance } = await setup()
  const ids = [await add({ priority: 2 }), await add({ priority: 1 }), await add()]
  for (const _ of ids) await take()
  await advance(31_000)

  expect(await loseExpired(db, 2)).toMatchObject([{ jobId: ids[2] }, { jobId: ids[1] }])
  expect(await loseExpired(db, 2)).toMatchObject([{ jobId: ids[0] }])
})

it('passes over a lease whose settle is in flight, and takes the others', async () => {
  const bundle = await setup()
  const [settling, dead] = [await bundle.add(), await bundle.add()]
  const item = { ...(await bundle.take()), resultText: '1' }
  await bundle.take()
  await bundle.advance(31_000)
  const [worker, reaper] = [await Session.open(bundle), await Session.open(bundle)]
  await worker.begin()
  await finish(worker, [item])

  expect(await loseExpired(reaper)).toMatchObject([{ jobId: dead }])
  await worker.commit()

  expect(await loseExpired(reaper)).toEqual([])
  expect(await bundle.see(settling)).toMatchObject({ outcome: 'succeeded', losses: 0 })
})

it('passes over a lease whose heartbeat is in flight', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  await bundle.advance(31_000)
  const [worker, reaper] = [await Session.open(bundle), await Session.open(bundle)]
  await worker.begin()
  await extend(worker, [lease])

  expect(await loseExpired(reaper)).toEqual([])
  await worker.commit()

  expect(await loseExpired(reaper)).toEqual([])
  expect(await bundle.placesOf(id)).toEqual(['leased'])
})

it('leaves a lease that was extended after the scan had begun', async () => {
  const bundle = await setup()
  const [dead, alive] = [await bundle.add(), await bundle.add()]
  await bundle.take()
  const lease = await bundle.take()
  await bundle.advance(31_000)
  const [gate, reaper] = [await Session.open(bundle), await Session.open(bundle)]
  const pause = await pauseScansOfLeased(gate, reaper)

  const lost = loseExpired(reaper)
  await untilBlocked(bundle.sql, reaper.pid, lost)
  expect(await extend(bundle.db, [lease])).toMatchObject([{ answer: 'extended' }])
  await pause.resume()

  expect(await lost).toMatchObject([{ jobId: dead }])
  expect(await bundle.placesOf(alive)).toEqual(['leased'])
})

it('charges a loss to a handler that started after the scan had begun', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take({ started: false })
  await bundle.advance(31_000)
  const [gate, reaper] = [await Session.open(bundle), await Session.open(bundle)]
  const pause = await pauseScansOfLeased(gate, reaper)

  const lost = loseExpired(reaper)
  await untilBlocked(bundle.sql, reaper.pid, lost)
  expect(await start(bundle.db, [lease])).toMatchObject([{ answer: 'started' }])
  await pause.resume()
  await lost
  await loseExpired(bundle.db)

  expect(await bundle.see(id)).toMatchObject({ place: 'ready', losses: 1, releases: 0 })
})

it('finds a lease that was claimed before one that lived, and committed after that was seen', async () => {
  const bundle = await setup()
  const { add, take, advance } = bundle
  await add()
  await add()
  const claimer = await Session.open(bundle)
  await claimer.begin()
  const [late] = await claim(claimer, { queue: 'default', limit: 1, worker: 'w1' })
  const { leaseId } = await take()
  const reaper = await Session.open(bundle)
  expect(await loseExpired(reaper)).toEqual([])
  await claimer.commit()
  await advance(31_000)

  expect(await loseExpired(reaper)).toMatchObject([{ leaseId: late?.leaseId }, { leaseId }])
  expect(late?.leaseId).toBeLessThan(leaseId)
})

it('needs no more of the sequence of leases than a claim does', async () => {
  const bundle = await setup()
  await bundle.add()
  const { leaseId } = await bundle.take()
  await bundle.sql(`grant usage on schema fencepost to pg_monitor`)
  await bundle.sql(`grant all on all tables in schema fencepost to pg_monitor`)
  await bundle.sql(`grant usage on all sequences in schema fencepost to pg_monitor`)
  await bundle.advance(31_000)
  const reaper = await Session.open(bundle)
  await reaper.query('set role pg_monitor')

  expect(await loseExpired(reaper)).toMatchObject([{ leaseId }])
})

it('loses each lease once, however many look', async () => {
  const bundle = await setup()
  const ids = []
  for (let i = 0; i < 20; i++) ids.push(await bundle.add())
  await start(bundle.db, await claim(bundle.db, { queue: 'default', limit: 20, worker: 'w1' }))
  await bundle.advance(31_000)
  const reapers = await Promise.all(Array.from({ length: 4 }, () => Session.open(bundle)))

  const lost = await Promise.all(reapers.map((reaper) => loseExpired(reaper)))

  expect(
    lost
      .flat()
      .map(({ jobId }) => jobId)
      .sort(),
  ).toEqual(ids.sort())
  expect(await bundle.sql('select distinct tries, losses from fencepost.ready')).toEqual([{ tries: 1, losses: 1 }])
})

it('is not held up by what a transaction with an older snapshot has said of a lease', async () => {
  const bundle = await setup()
  const [spokenOf, other] = [await bundle.add(), await bundle.add()]
  await takeSpokenOf(bundle)
  await bundle.take()
  await bundle.advance(31_000)

  expect(byJob(await loseExpired(bundle.db))).toEqual({ [spokenOf]: 'lost', [other]: 'lost' })
  expect(await bundle.sql('select ending, late_ending from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'lost', late_ending: null },
    { ending: 'lost', late_ending: null },
  ])
  expect((await audit(bundle.db)).findings).toEqual([])
})
