import { expect, it } from 'vitest'
import { cancel, promoteDue } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { fail, park } from '../../src/store/settle.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

it('moves a delayed job to ready when it is due by the database’s clock, and not before', async () => {
  const { db, add, advance, placesOf, see } = await setup()
  const id = await add({ delayMs: 10_000 })
  await advance(9_000)
  expect(await promoteDue(db)).toEqual([])
  expect(await placesOf(id)).toEqual(['delayed'])
  await advance(1_000)

  expect(await promoteDue(db)).toEqual([{ jobId: id, place: 'delayed' }])

  expect(await placesOf(id)).toEqual(['ready'])
  expect(await see(id)).toMatchObject({ tries: 0, failures: 0, losses: 0, releases: 0 })
  expect(await promoteDue(db)).toEqual([])
})

it('moves a parked job to ready when its time is due, and not before', async () => {
  const { db, add, take, advance, placesOf } = await setup()
  const id = await add()
  await park(db, await take(), 'nap', 10_000)
  await advance(9_000)
  expect(await promoteDue(db)).toEqual([])
  expect(await placesOf(id)).toEqual(['parked'])
  await advance(1_000)

  expect(await promoteDue(db)).toEqual([{ jobId: id, place: 'parked' }])
  expect(await placesOf(id)).toEqual(['ready'])
})

it('leaves a parked job that waits for no time', async () => {
  const { db, add, take, advance, placesOf } = await setup()
  const id = await add()
  await park(db, await take(), 'go', null)
  await advance(86_400_000)

  expect(await promoteDue(db)).toEqual([])
  expect(await placesOf(id)).toEqual(['parked'])
})

it('keeps the counters, the budgets and the place in the line', async () => {
  const { db, add, take, advance } = await setup()
  const id = await add({ failuresMax: 1 })
  await add()
  await fail(db, [{ ...(await take()), errorText: '1', delayMs: 1_000, final: false }])
  await advance(1_000)
  await promoteDue(db)

  expect(await take()).toMatchObject({ jobId: id, tries: 2, failures: 1, failuresMax: 1 })
})

it('takes the longest due first, up to its limit', async () => {
  const { db, add, advance } = await setup()
  const [late, early] = [await add({ delayMs: 2_000 }), await add({ delayMs: 1_000 })]
  await advance(5_000)

  expect(await promoteDue(db, 1)).toEqual([{ jobId: early, place: 'delayed' }])
  expect(await promoteDue(db, 1)).toEqual([{ jobId: late, place: 'delayed' }])
})

it('passes over a delayed job that is just being cancelled, and moves the others', async () => {
  const bundle = await setup()
  const [busy, free] = [await bundle.add({ delayMs: 1_000 }), await bundle.add({ delayMs: 2_000 })]
  await bundle.advance(5_000)
  const [person, maintenance] = [await Session.open(bundle), await Session.open(bundle)]
  await person.begin()
  await cancel(person, [busy], null)

  expect(await promoteDue(maintenance)).toEqual([{ jobId: free, place: 'delayed' }])
  await person.commit()

  expect(await promoteDue(maintenance)).toEqual([])
  expect(await bundle.placesOf(busy)).toEqual(['finished'])
})

it('passes over a parked job that is just being cancelled, and moves the others', async () => {
  const bundle = await setup()
  const [busy, free] = [await bundle.add(), await bundle.add()]
  await park(bundle.db, await bundle.take(), 'nap', 1_000)
  await park(bundle.db, await bundle.take(), 'nap', 2_000)
  await bundle.advance(5_000)
  const [person, maintenance] = [await Session.open(bundle), await Session.open(bundle)]
  await person.begin()
  await cancel(person, [busy], null)

  expect(await promoteDue(maintenance)).toEqual([{ jobId: free, place: 'parked' }])
  await person.rollback()

  expect(await promoteDue(maintenance)).toEqual([{ jobId: busy, place: 'parked' }])
})

it('moves each job once, however many look', async () => {
  const bundle = await setup()
  const jobs = Array.from({ length: 30 }, () => aJob({ delayMs: 1_000 }))
  await enqueue(bundle.db, jobs)
  await bundle.advance(5_000)
  const sessions = await Promise.all(Array.from({ length: 4 }, () => Session.open(bundle)))

  const moved = await Promise.all(sessions.map((session) => promoteDue(session, 12)))

  expect(
    moved
      .flat()
      .map(({ jobId }) => jobId)
      .sort(),
  ).toEqual(jobs.map(({ id }) => id).sort())
  expect(await claim(bundle.db, { queue: 'default', limit: 50, worker: 'w1' })).toHaveLength(30)
})
