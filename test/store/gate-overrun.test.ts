import { expect, it } from 'vitest'
import { markOverrun } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { takeTurn } from '../../src/store/turn.js'
import { untilBlocked } from '../harness/blocked.js'
import { gates, setupGates } from '../harness/gates.js'
import { pauseScansOfLeased } from '../harness/scan-pause.js'
import { Session } from '../harness/session.js'

const late = { overrunMs: 1_000 }

/** A job that has overrun its gate, the one that got its slot, and one more that waits. */
async function setupOverrun() {
  const bundle = await setupGates()
  const { db, gated, takeAll, advance } = bundle
  const ids = [await gated(late), await gated(late), await gated(late)] as const
  const [lease] = await takeAll()
  if (!lease) throw new Error('nothing was leased')
  await advance(2_000)
  expect(await markOverrun(db)).toMatchObject([{ jobId: ids[0], key: 'gate:k' }])
  return { ...bundle, ids, lease }
}

it('gives the slot of whoever holds it for too long to the next, once', async () => {
  const { db, ids, places, gate, sound } = await setupOverrun()
  expect(await places(...ids)).toEqual(['leased', 'ready', 'waiting'])
  expect(await markOverrun(db)).toEqual([])
  expect(await gate()).toMatchObject({ held: 1 })
  await sound()
})

it('frees nothing when the late one ends', async () => {
  const { db, ids, lease, places, gate, sound } = await setupOverrun()
  await finish(db, [{ ...lease, resultText: '1' }])
  expect(await places(...ids)).toEqual(['succeeded', 'ready', 'waiting'])
  expect(await gate()).toMatchObject({ held: 1 })
  await sound()
})

type World = Awaited<ReturnType<typeof setupOverrun>>
const givenBack: Record<string, (world: World) => Promise<unknown>> = {
  'lets a late one that is given back wait anew': ({ db, lease }) => release(db, [lease], 'shutdown'),
  'lets a late one that fails wait anew': ({ db, lease }) =>
    fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: false }]),
  'lets a late one that is lost wait anew': async ({ db, advance }) => {
    await advance(60_000)
    await loseExpired(db)
  },
}
for (const [name, give] of Object.entries(givenBack)) {
  it(name, async () => {
    const world = await setupOverrun()
    await give(world)
    expect(await world.places(...world.ids)).toEqual(['waiting', 'ready', 'waiting'])
    expect(await world.gate()).toMatchObject({ held: 1 })
    await world.sound()
  })
}

it('frees nothing when the late one parks', async () => {
  const { db, ids, lease, places, sound } = await setupOverrun()
  await park(db, lease, 'signal', null)
  expect(await places(...ids)).toEqual(['parked', 'ready', 'waiting'])
  await sound()
})

const two = { gatesText: gates({ key: 'gate:a', overrunMs: 1_000 }, { key: 'gate:b', overrunMs: 10_000 }) }

it('counts from when the job is marked as started, and not from when it was claimed ahead', async () => {
  const { db, gated, places, advance, emptyTurn } = await setupGates()
  const ids = [await gated(late), await gated(late)] as const
  const claimed = await takeTurn(db, {
    ...emptyTurn('w1'),
    claim: { queues: [{ queue: 'default', limit: 5, starts: 0 }], room: 5, suspect: false },
    tasks: ['test'],
  })
  await advance(2_000)
  expect(await markOverrun(db)).toEqual([])

  await takeTurn(db, { ...emptyTurn('w1'), start: claimed.leases })
  await advance(500)
  expect(await markOverrun(db)).toEqual([])
  await advance(600)

  expect(await markOverrun(db)).toMatchObject([{ jobId: ids[0], key: 'gate:k' }])
  expect(await places(...ids)).toEqual(['leased', 'ready'])
})

it('counts each gate by its own time', async () => {
  const { db, add, takeAll, advance, places, gate, sound } = await setupGates()
  const [first, second, third] = [await add(two), await add(two), await add(two)]
  await takeAll()
  await advance(2_000)
  expect(await markOverrun(db)).toMatchObject([{ jobId: first, key: 'gate:a' }])
  expect(await places(first, second, third)).toEqual(['leased', 'waiting', 'waiting'])
  await sound()
  await advance(10_000)
  expect(await markOverrun(db)).toMatchObject([{ jobId: first, key: 'gate:b' }])
  expect(await places(first, second, third)).toEqual(['leased', 'ready', 'waiting'])
  expect(await gate('gate:a')).toMatchObject({ held: 1 })
  await sound()
})

it('frees no gate twice if two look at the same time', async () => {
  const bundle = await setupGates()
  const { sql, add, takeAll, advance, sound } = bundle
  for (let i = 0; i < 3; i++) await add(two)
  await takeAll()
  await advance(2_000)
  const [first, second, stop] = [await Session.open(bundle), await Session.open(bundle), await Session.open(bundle)]
  const scans = await pauseScansOfLeased(stop, second)
  await first.begin()
  await markOverrun(first)
  await advance(10_000)

  // The second one's snapshot is older than the first one's commit, its lock is younger.
  const marked = markOverrun(second)
  await untilBlocked(sql, second.pid, marked)
  await first.commit()
  await scans.resume()

  expect(await marked).toMatchObject([{ key: 'gate:b' }])
  await sound()
})

it('does not wait for a holder that somebody has locked', async () => {
  const bundle = await setupGates()
  await bundle.gated(late)
  await bundle.takeAll()
  await bundle.advance(2_000)
  const [holder, asking] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')

  expect(await markOverrun(asking)).toEqual([])
  await holder.rollback()
})
