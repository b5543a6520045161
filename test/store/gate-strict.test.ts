import { expect, it } from 'vitest'
import { cancel, promoteDue, wake } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { fail, finish, park } from '../../src/store/settle.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'
import { aJob } from '../harness/setup.js'

const strict = { key: 'fifo:k' }

async function setupStrict() {
  const bundle = await setupGates()
  const { db, takeAll } = bundle
  const take = async () => {
    const leases = await takeAll()
    expect(leases).toHaveLength(1)
    return leases[0] as (typeof leases)[0]
  }
  return {
    ...bundle,
    take,
    /** Whoever has the slot now runs and ends. */
    runNext: async () => {
      const lease = await take()
      await finish(db, [{ ...lease, resultText: '1' }])
      return lease.jobId
    },
    skip: async (id: string) =>
      (await bundle.sql<{ answer: string }>('select fencepost.skip($1, true) as answer', [id]))[0]?.answer,
  }
}

it('keeps the order of a batch, whatever the ids and priorities', async () => {
  const { db, runNext, sound } = await setupStrict()
  const jobs = [2, 1, 0].map((priority) => aJob({ priority, gatesText: gates(strict) }))
  await enqueue(db, jobs)
  for (const { id } of jobs) expect(await runNext()).toBe(id)
  await sound()
})

it('is held by a head that fails, through its delay, and by one that is parked', async () => {
  const { db, gated, take, places, advance, sound } = await setupStrict()
  const [a, b] = [await gated(strict), await gated(strict)]
  await fail(db, [{ ...(await take()), errorText: '{}', delayMs: 1_000, final: false }])
  expect(await places(a, b)).toEqual(['delayed', 'waiting'])
  await sound()
  await advance(2_000)
  await promoteDue(db)
  await park(db, await take(), 'signal', null)
  expect(await places(a, b)).toEqual(['parked', 'waiting'])
  await wake(db, a, 'signal', '1')
  expect(await places(a, b)).toEqual(['ready', 'waiting'])
  await sound()
})

it('gives its other gates back while it is parked', async () => {
  const { db, add, gated, take, places, sound } = await setupStrict()
  const both = await add({ gatesText: gates({ key: 'fifo:k' }, { key: 'gate:k' }) })
  const [next, other] = [await gated(strict), await gated()]
  await park(db, await take(), 'signal', null)
  expect(await places(both, next, other)).toEqual(['parked', 'waiting', 'ready'])
  await wake(db, both, 'signal', '1')
  expect(await places(both, next, other)).toEqual(['waiting', 'waiting', 'ready'])
  await sound()
})

it('lets the others pass a head that is skipped, which then comes first of those that wait', async () => {
  const { db, gated, take, runNext, places, advance, skip, sound } = await setupStrict()
  const [a, b, c] = [await gated(strict), await gated(strict), await gated(strict)]
  await fail(db, [{ ...(await take()), errorText: '{}', delayMs: 1_000, final: false }])
  expect(await skip(a)).toBe('skipped')
  expect(await skip(a)).toBe('not_held')
  expect(await places(a, b, c)).toEqual(['delayed', 'ready', 'waiting'])
  await sound()
  await advance(2_000)
  await promoteDue(db)
  expect(await places(a, b, c)).toEqual(['waiting', 'ready', 'waiting'])
  expect([await runNext(), await runNext(), await runNext()]).toEqual([b, a, c])
  await sound()
})

it('lets nobody pass a head whose cancel may yet be undone', async () => {
  const bundle = await setupStrict()
  const { gated, runNext, places, turn, sound } = bundle
  const [a, b, c] = [await gated(strict), await gated(strict), await gated(strict)]
  const caller = await Session.open(bundle)
  await caller.begin()
  await cancel(caller, [b], null, caller.client)

  expect(await runNext()).toBe(a)
  await turn()
  expect(await places(c)).toEqual(['waiting'])

  await caller.rollback()
  await turn()
  expect(await places(b, c)).toEqual(['ready', 'waiting'])
  await sound()
})

it('goes on when the cancel of a head is committed', async () => {
  const bundle = await setupStrict()
  const { gated, runNext, places, turn, sound } = bundle
  const [, b, c] = [await gated(strict), await gated(strict), await gated(strict)]
  const caller = await Session.open(bundle)
  await caller.begin()
  await cancel(caller, [b], null, caller.client)
  await runNext()
  await caller.commit()
  await turn()
  expect(await places(b, c)).toEqual(['cancelled', 'ready'])
  await sound()
})

it('keeps its order through a pause of the queue', async () => {
  const { sql, gated, runNext, places, turn, sound } = await setupStrict()
  await sql(`select fencepost.pause('queue:default')`)
  const before = [await gated(strict), await gated(strict)]
  await turn()
  await sql(`select fencepost.resume('queue:default')`)
  const after = await gated(strict)
  expect(await places(...before, after)).toEqual(['ready', 'waiting', 'waiting'])
  expect([await runNext(), await runNext(), await runNext()]).toEqual([...before, after])
  await sound()
})

it('is kept by a paused job that gives its other gates back', async () => {
  const { sql, add, gated, places, turn, gate, sound } = await setupStrict()
  const both = await add({ gatesText: gates({ key: 'fifo:k' }, { key: 'gate:k' }) })
  const next = await gated(strict)
  const other = await gated({}, { queue: 'other' })
  expect(await places(both, next, other)).toEqual(['ready', 'waiting', 'waiting'])
  await sql(`select fencepost.pause('queue:default')`)
  await sql('select fencepost.yield_paused()')
  expect(await places(both, next, other)).toEqual(['waiting', 'waiting', 'ready'])
  expect(await gate('fifo:k')).toMatchObject({ held: 1 })
  await sound()
  await sql(`select fencepost.resume('queue:default')`)
  await sql(`select fencepost.cancel(array[$1::uuid], null, true)`, [other])
  await turn()
  await turn() // the first leaves the pause behind, and finds a gate that is yet to be made
  expect(await places(both, next)).toEqual(['ready', 'waiting'])
  await sound()
})

it('is given up once by a head that is parked and skipped, however often somebody says so', async () => {
  const { db, gated, take, places, skip, sound } = await setupStrict()
  const [a, b, c] = [await gated(strict), await gated(strict), await gated(strict)]
  await park(db, await take(), 'signal', null)

  expect([await skip(a), await skip(a)]).toEqual(['skipped', 'not_held'])

  expect(await places(a, b, c)).toEqual(['parked', 'ready', 'waiting'])
  await sound()
})
