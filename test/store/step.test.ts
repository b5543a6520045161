import { expect, it } from 'vitest'
import { extend, loseExpired } from '../../src/store/lease.js'
import { fail, finish, leaseFate } from '../../src/store/settle.js'
import { beginStep, endStep } from '../../src/store/step.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { forged, setup } from '../harness/setup.js'

/** A job whose first lease began a step and was lost, and whose second is held now. */
async function setupAmbiguous() {
  const bundle = await setup()
  await bundle.add()
  const old = await bundle.take()
  await beginStep(bundle.db, old, 'pay', 60_000, true)
  await bundle.advance(31_000)
  await loseExpired(bundle.db)
  return { ...bundle, old, current: await bundle.take() }
}

it('begins a step, and gives its result to whoever asks again', async () => {
  const { db, add, take } = await setup()
  await add()
  const lease = await take()

  expect(await beginStep(db, lease, 'pay', null, true)).toMatchObject({ answer: 'begun' })
  expect(await beginStep(db, lease, 'pay', null, true)).toMatchObject({ answer: 'begun' })
  expect(await endStep(db, lease, 'pay', { resultText: '7' })).toBe('recorded')
  expect(await beginStep(db, lease, 'pay', null, true)).toMatchObject({ answer: 'done', result: 7 })
})

it('keeps the first result of a step', async () => {
  const { db, add, take } = await setup()
  await add()
  const lease = await take()
  await beginStep(db, lease, 'pay', null, true)
  await endStep(db, lease, 'pay', { resultText: '1' })

  expect(await endStep(db, lease, 'pay', { resultText: '2' })).toBe('already')

  expect(await beginStep(db, lease, 'pay', null, true)).toMatchObject({ answer: 'done', result: 1 })
})

it('tells that a step of an earlier attempt is ambiguous, and how long that attempt may go on', async () => {
  const { db, current } = await setupAmbiguous()

  const begun = await beginStep(db, current, 'pay', 60_000, false)

  expect(begun.answer).toBe('ambiguous')
  expect(begun.waitMs).toBeGreaterThan(25_000)
  expect(begun.waitMs).toBeLessThanOrEqual(29_000)
})

it('leaves an ambiguous step to the earlier attempt until it is taken', async () => {
  const { db, current } = await setupAmbiguous()

  await beginStep(db, current, 'pay', 60_000, false)
  expect(await beginStep(db, current, 'pay', 60_000, true)).toMatchObject({ answer: 'ambiguous' })

  expect(await beginStep(db, current, 'pay', 60_000, true)).toMatchObject({ answer: 'begun' })
})

it('does not make the next attempt wait for one that said that it is over with the step', async () => {
  const { db, add, take, advance } = await setup()
  await add()
  const old = await take()
  await beginStep(db, old, 'pay', 60_000, true)
  await endStep(db, old, 'pay', { threw: true })
  await advance(31_000)
  await loseExpired(db)

  expect(await beginStep(db, await take(), 'pay', 60_000, false)).toMatchObject({ answer: 'ambiguous', waitMs: 0 })
})

it('refuses to begin a step for a lease that is not held', async () => {
  const { db, old, current, sql } = await setupAmbiguous()
  await sql('delete from fencepost.step')

  expect(await beginStep(db, old, 'pay', null, true)).toMatchObject({ answer: 'stale' })
  expect(await beginStep(db, forged(current), 'pay', null, true)).toMatchObject({ answer: 'stale' })

  expect(await sql('select * from fencepost.step')).toEqual([])
})

it('refuses to end a step for a lease that is not held', async () => {
  const { db, old, current } = await setupAmbiguous()

  expect(await endStep(db, old, 'pay', { resultText: '1' })).toBe('stale')
  expect(await endStep(db, forged(current), 'pay', { resultText: '1' })).toBe('stale')

  expect(await beginStep(db, current, 'pay', null, false)).toMatchObject({ answer: 'ambiguous' })
})

it('keeps a lease from ending while a step is begun under it, and lets its heartbeat through', async () => {
  const bundle = await setup()
  const { db, add, take, advance, placesOf } = bundle
  const id = await add()
  const lease = await take()
  const session = await Session.open(bundle)
  await session.begin()
  await beginStep(session, lease, 'pay', null, true)

  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  await advance(60_000)
  expect(await loseExpired(db)).toEqual([])

  await session.commit()
  expect(await placesOf(id)).toEqual(['leased'])
})

it('tells the fate of a lease, and waits for a transaction that is settling it', async () => {
  const bundle = await setup()
  const { db, add, take, sql } = bundle
  await add()
  const lease = await take()
  expect(await leaseFate(db, lease)).toBe('held')
  expect(await leaseFate(db, forged(lease))).toBe('gone')
  const settling = await Session.open(bundle)
  const asking = await Session.open(bundle)
  await settling.begin()
  await finish(settling, [{ ...lease, resultText: '1' }])

  const fate = leaseFate(asking, lease)
  await untilBlocked(sql, asking.pid, fate)
  await settling.commit()

  expect(await fate).toBe('finished')
})

it('does not take another attempt’s success, nor a failure, for the success of a lease', async () => {
  const { db, old, current } = await setupAmbiguous()
  await finish(db, [{ ...current, resultText: '1' }])

  expect(await leaseFate(db, old)).toBe('gone')
  expect(await leaseFate(db, current)).toBe('finished')
})

it('does not take a lease for finished that has failed', async () => {
  const { db, add, take } = await setup()
  await add()
  const lease = await take()
  await fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: true }])

  expect(await leaseFate(db, lease)).toBe('gone')
})

it('has whoever comes wait for the attempt that may go on longest', async () => {
  const { db, add, take, advance } = await setup()
  await add()
  await beginStep(db, await take(), 'pay', 3_600_000, true)
  await advance(31_000)
  await loseExpired(db)
  await beginStep(db, await take(), 'pay', 1, true)
  await advance(31_000)
  await loseExpired(db)

  const { waitMs } = await beginStep(db, await take(), 'pay', 1, false)

  expect(waitMs).toBeGreaterThan(3_000_000)
})
