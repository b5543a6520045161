import { expect, it } from 'vitest'
import { registerServer } from '../../src/store/sqs-servers.js'
import { fallAsleep, reapExpired, registerWorker, seeWorker } from '../../src/store/worker.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'

const everyMs = 500

/** Beats as a worker would, so that there is no gap, until the time has passed. */
async function beatFor(bundle: Awaited<ReturnType<typeof setup>>, ms: number) {
  const lost = []
  for (let passed = 0; passed < ms; passed += 5_000) {
    await bundle.advance(5_000)
    lost.push(...(await reapExpired(bundle.db, everyMs)))
  }
  return lost
}

const card = { pid: 1, host: 'here', version: '1', queues: {}, tasks: [] }

it('takes back leases that have run out', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  await reapExpired(bundle.db, everyMs)
  await bundle.take()

  expect(await beatFor(bundle, 35_000)).toMatchObject([{ jobId: id, answer: 'lost' }])

  expect(await bundle.see(id)).toMatchObject({ place: 'ready', losses: 1 })
})

it('after a gap of more than half a lease gives every lease one more length', async () => {
  const bundle = await setup()
  const { db, add, take, advance, see } = bundle
  const id = await add()
  await reapExpired(db, everyMs)
  await take()

  await advance(60_000) // nobody could reach the database
  expect(await reapExpired(db, everyMs)).toEqual([])
  expect(await see(id)).toMatchObject({ place: 'leased' })

  expect(await beatFor(bundle, 25_000)).toEqual([])
  expect(await beatFor(bundle, 10_000)).toMatchObject([{ jobId: id, answer: 'lost' }])
})

it('gives a short lease, after an outage, the time that it takes to connect again', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add({ leaseMs: 2_000 })
  await reapExpired(db, everyMs)
  await take()

  await advance(60_000)
  expect(await reapExpired(db, everyMs)).toEqual([])

  const left = 'select round(extract(epoch from expires_at - fencepost.clock()))::int as seconds from fencepost.leased'
  expect(await sql(left)).toEqual([{ seconds: 10 }])
})

it('after a gap of less than half a lease reaps as ever', async () => {
  const bundle = await setup()
  const { db, add, take, advance } = bundle
  const id = await add({ leaseMs: 60_000 })
  await reapExpired(db, everyMs)
  await take()
  await beatFor(bundle, 35_000)

  await advance(27_000)

  expect(await reapExpired(db, everyMs)).toMatchObject([{ jobId: id }])
})

it('after the clock went back leaves of a lease what was left of it, but one length at least', async () => {
  const bundle = await setup()
  const { db, add, take, advance, sql } = bundle
  await add()
  await add({ leaseMs: 7_000_000 })
  await reapExpired(db, everyMs)
  await take()
  await take()

  await advance(-3_600_000)
  await reapExpired(db, everyMs)

  const left = await sql<{ seconds: number }>(
    'select round(extract(epoch from expires_at - fencepost.clock()))::int as seconds from fencepost.leased order by lease_id',
  )
  expect(left).toEqual([{ seconds: 30 }, { seconds: 7_000 }])
})

it('looks no more often than asked, however many processes ask', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add({ leaseMs: 1_000 })
  await reapExpired(db, 10_000)
  await take()
  await advance(2_000)

  expect(await reapExpired(db, 10_000)).toEqual([])
  expect(await sql('select count(*)::int from fencepost.leased')).toEqual([{ count: 1 }])
  await advance(4_000)
  expect(await reapExpired(db, 10_000)).toHaveLength(1)
})

it('does not wait for a process that looks', async () => {
  const { url, db, connect } = await setup()
  const session = await Session.open({ url, connect })
  const other = await Session.open({ url, connect })
  await reapExpired(db, 0)
  await session.begin()
  await reapExpired(session, 0)

  expect(await reapExpired(other, 0)).toEqual([])

  await session.commit()
})

it('sweeps a worker that was not seen for a minute, and its sleepers', async () => {
  const bundle = await setup()
  const { db, sql } = bundle
  await reapExpired(db, everyMs)
  await registerWorker(db, { ...card, id: 'dead' })
  await registerWorker(db, { ...card, id: 'alive' })
  await sql(`select fencepost.sleep('dead', '{default}'), fencepost.sleep('alive', '{default}')`)
  await beatFor(bundle, 40_000)
  await seeWorker(db, 'alive', false)

  await beatFor(bundle, 25_000)

  expect(await sql('select id from fencepost.worker')).toEqual([{ id: 'alive' }])
  expect(await sql('select worker from fencepost.sleeper')).toEqual([{ worker: 'alive' }])
  expect(await seeWorker(db, 'dead', false)).toBe(false)
  expect(await seeWorker(db, 'alive', false)).toBe(true)
})

it('takes no worker for dead that could not be seen because the database was away', async () => {
  const bundle = await setup()
  const { db, sql, advance } = bundle
  await reapExpired(db, everyMs)
  await registerWorker(db, { ...card, id: 'cut off' })

  await advance(300_000)
  await reapExpired(db, everyMs)
  await beatFor(bundle, 5_000)

  expect(await sql('select id from fencepost.worker')).toEqual([{ id: 'cut off' }])
})

it('looks for the first time once, whoever else does', async () => {
  const bundle = await setup()
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  await first.begin()
  await reapExpired(first, everyMs)
  const looking = reapExpired(second, everyMs)
  await untilBlocked(bundle.sql, second.pid, looking)
  await first.commit()

  expect(await looking).toEqual([])
})

it('after a gap waits for nobody who is about to end a lease', async () => {
  const bundle = await setup()
  const { db, add, take, advance } = bundle
  await add()
  await reapExpired(db, everyMs)
  await take()
  const [settling, looking] = [await Session.open(bundle), await Session.open(bundle)]
  await settling.begin()
  await settling.query('select 1 from fencepost.leased for update')
  await advance(60_000)

  expect(await reapExpired(looking, everyMs)).toEqual([])
})

it('lets the servers of SQS sleep on, which are no workers', async () => {
  const bundle = await setup()
  await reapExpired(bundle.db, everyMs)
  await registerServer(bundle.db, 's1', 'on', 60_000)
  await fallAsleep(bundle.db, 's1', ['q'])
  await fallAsleep(bundle.db, 'gone', ['q'])

  await beatFor(bundle, 5_000)

  expect(await bundle.sql('select worker from fencepost.sleeper')).toEqual([{ worker: 's1' }])
})

it('knows a worker that registers, or falls asleep, a second time after a lost reply', async () => {
  const { db, sql } = await setup()
  for (const _ of ['first', 'again']) {
    await registerWorker(db, { ...card, id: 'w1' })
    await fallAsleep(db, 'w1', ['default'])
  }

  expect(await sql('select id from fencepost.worker')).toEqual([{ id: 'w1' }])
  expect(await sql('select worker from fencepost.sleeper')).toEqual([{ worker: 'w1' }])
})
