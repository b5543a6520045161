import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { loseExpired, start } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { untilBlocked } from '../harness/blocked.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'
import { aJob } from '../harness/setup.js'

async function setupLocks() {
  const bundle = await setupGates()
  const other = await Session.open(bundle)
  /** What must not wait: it gives up on the first lock that it has to wait for, soon. */
  const hasty = await Session.open(bundle)
  await hasty.query('set lock_timeout = 1000')
  const end = (leases: readonly Parameters<typeof finish>[1][0][]) => finish(hasty, leases)
  return {
    ...bundle,
    other,
    hasty,
    finishAll: async () => end((await bundle.takeAll()).map((lease) => ({ ...lease, resultText: '1' }))),
  }
}

describe('a gate that another transaction has locked', () => {
  it('is not waited for by whoever comes to wait there, who is admitted afterwards', async () => {
    const { other, hasty, gated, places, nudges, turn, sound } = await setupLocks()
    const first = await gated({ limit: 2 })
    await other.begin()
    await other.query(`select 1 from fencepost.gate for update`)
    const job = aJob({ gatesText: gates({ key: 'gate:k', limit: 2 }) })
    await enqueue(hasty, [job])
    expect(await nudges()).toEqual(['gate:k'])
    await other.rollback()
    await turn()
    expect(await places(first, job.id)).toEqual(['ready', 'ready'])
    await sound()
  })

  it('is not waited for by whoever gives its slot back, which is not lost', async () => {
    const { other, gated, finishAll, gate, nudges, turn, sound } = await setupLocks()
    await gated()
    await other.begin()
    await other.query(`select 1 from fencepost.gate for update`)
    await finishAll()
    expect(await nudges()).toEqual(['gate:k'])
    await other.rollback()
    await sound()
    await turn()
    expect(await gate()).toBeUndefined()
    await sound()
  })

  it('does not keep the others from being heeded, however many nudges it has', async () => {
    const { sql, other, gated, finishAll, places, turn, sound } = await setupLocks()
    await gated({ key: 'gate:a' })
    await other.begin()
    await other.query(`select 1 from fencepost.gate for update`)
    await sql(`insert into fencepost.nudge (key, freed) select 'gate:a', 0 from generate_series(1, 1000)`)
    await sql(`select fencepost.enqueue('test', gates => '[{"key": "gate:b"}]')`)
    await turn()
    expect((await sql<{ id: string }>('select id from fencepost.jobs')).length).toBe(2)
    expect(await sql(`select 1 from fencepost.waiting`)).toEqual([])
    await other.rollback()
    await finishAll()
    await turn()
    expect(await places()).toEqual([])
    await sound()
  })
})

describe('a waiter whose cancel is not committed', () => {
  it('is passed over, and the next is admitted', async () => {
    const { other, gated, finishAll, places, sound } = await setupLocks()
    const [, b, c] = [await gated(), await gated(), await gated()]
    await other.begin()
    await cancel(other, [b], null, other.client)
    await finishAll()
    expect(await places(b, c)).toEqual(['waiting', 'ready'])
    await other.rollback()
    await sound()
  })

  it('is admitted when that is rolled back', async () => {
    const { other, gated, finishAll, places, nudges, turn, sound } = await setupLocks()
    const [, b] = [await gated(), await gated()]
    await other.begin()
    await cancel(other, [b], null, other.client)
    await finishAll()
    await turn()
    expect(await places(b)).toEqual(['waiting'])
    expect(await nudges()).toEqual(['gate:k'])
    await other.rollback()
    await turn()
    expect(await places(b)).toEqual(['ready'])
    expect(await nudges()).toEqual([])
    await sound()
  })

  it('is told of by a notice to those who sleep', async () => {
    const { sql, connect, other, gated, finishAll } = await setupLocks()
    const listener = await connect()
    const heard = new Promise((resolve) => listener.once('notification', ({ payload }) => resolve(payload)))
    await listener.query('listen """fencepost"".ready"')
    const [, b] = [await gated(), await gated()]
    await other.begin()
    await cancel(other, [b], null, other.client)
    await sql(`insert into fencepost.sleeper values ('other', 'w9')`)
    await finishAll()
    expect(await heard).toBe('')
    await other.rollback()
  })
})

it('forgets a nudge for a gate that is gone', async () => {
  const { sql, nudges, turn, sound } = await setupLocks()
  // A worker that registers tells every group that it saw, one of which has gone meanwhile.
  await sql(`insert into fencepost.nudge (key, freed) values ('group:gone', 0)`)
  expect(await turn()).toMatchObject({ nudged: false })
  expect(await nudges()).toEqual([])
  expect(await sql('select * from fencepost.gate')).toEqual([])
  await sound()
})

it('gives back slots only of those members of a batch whose lease it has ended', async () => {
  const { db, gated, takeAll, places, gate, sound } = await setupLocks()
  const [a, b, c, d] = [
    await gated({ limit: 2 }),
    await gated({ limit: 2 }),
    await gated({ limit: 2 }),
    await gated({ limit: 2 }),
  ]
  const leases = (await takeAll()).map((lease) => ({ ...lease, resultText: '1' }))
  await finish(db, leases.slice(0, 1))
  expect(await finish(db, leases)).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ answer: 'already' }),
      expect.objectContaining({ answer: 'finished' }),
    ]),
  )
  expect(await places(a, b, c, d)).toEqual(['succeeded', 'succeeded', 'ready', 'ready'])
  await finish(db, leases)
  expect(await gate()).toMatchObject({ held: 2 })
  await sound()
})

it('frees all slots of a dead worker’s jobs at once, and no more', async () => {
  const { db, gated, takeAll, places, gate, advance, sound } = await setupLocks()
  const ids: string[] = []
  for (let i = 0; i < 6; i++) ids.push(await gated({ limit: 3 }, { lossesMax: i < 2 ? 0 : 2 }))
  await start(db, await takeAll())
  await advance(60_000)
  await loseExpired(db)
  expect(await places(...ids)).toEqual(['failed', 'failed', 'ready', 'ready', 'ready', 'waiting'])
  expect(await gate()).toMatchObject({ held: 3 })
  await sound()
})

it('above READ COMMITTED hands nothing over and locks no gate: its snapshot is too old', async () => {
  const { hasty, gated, finishAll, places, nudges, turn, sound } = await setupLocks()
  const [a, b] = [await gated(), await gated()]
  await hasty.query(`set default_transaction_isolation = 'repeatable read'`)
  await finishAll()
  expect(await places(a, b)).toEqual(['succeeded', 'waiting'])
  expect(await nudges()).toEqual(['gate:k'])
  await turn()
  expect(await places(b)).toEqual(['ready'])
  await sound()
})

it('is made once by two who come at the same time', async () => {
  const { sql, other, hasty, places, turn, gate, sound } = await setupLocks()
  const [a, b] = [1, 2].map(() => aJob({ gatesText: gates({ key: 'gate:k' }) })) as [
    ReturnType<typeof aJob>,
    ReturnType<typeof aJob>,
  ]
  await other.begin()
  await enqueue(other, [a])
  const second = enqueue(hasty, [b])
  await untilBlocked(sql, hasty.pid, second)
  await other.commit()
  await second
  await turn()
  expect(await places(a.id, b.id)).toEqual(['ready', 'waiting'])
  expect(await gate()).toMatchObject({ held: 1 })
  await sound()
})

it('does not wait for a job that it would discard and that somebody has locked', async () => {
  const bundle = await setupGates()
  const { gated, places, sql } = bundle
  await gated()
  const [locker, session] = [await Session.open(bundle), await Session.open(bundle)]
  // In a transaction of the caller's: whether it is discarded is decided later.
  const impatient = `select job_id from fencepost.enqueue('test', gates => '[{"key": "gate:k", "onFull": "discard"}]')`
  const [locked, other] = [...(await sql<{ job_id: string }>(impatient)), ...(await sql<{ job_id: string }>(impatient))]
  await locker.begin()
  await locker.query('select 1 from fencepost.waiting where job_id = $1 for update', [locked?.job_id])

  await session.query('select fencepost.admit(null, true, true, 200)')

  expect(await places(locked?.job_id as string, other?.job_id as string)).toEqual(['waiting', 'discarded'])
})
