import { describe, expect, it } from 'vitest'
import { cancel, yieldPaused } from '../../src/store/control.js'
import { claim } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { takeTurn } from '../../src/store/turn.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'

async function setupPause() {
  const bundle = await setupGates()
  const { db, sql, takeAll } = bundle
  return {
    ...bundle,
    pause: (key: string) => sql('select fencepost.pause($1)', [key]),
    resume: (key: string) => sql('select fencepost.resume($1)', [key]),
    setLimit: (limit: number | null) => sql(`select fencepost.set_limit('gate:k', $1)`, [limit]),
    /** Ends so many of the jobs that are ready or run. */
    finishSome: async (leases: Awaited<ReturnType<typeof takeAll>>) =>
      finish(
        db,
        leases.map((lease) => ({ ...lease, resultText: '1' })),
      ),
  }
}

describe('a paused queue', () => {
  it('is not claimed from until it is resumed', async () => {
    const { add, takeAll, pause, resume } = await setupPause()
    const [paused, other] = [await add(), await add({ queue: 'other' })]
    await pause('queue:default')
    expect(await takeAll()).toEqual([])
    expect(await takeAll('other')).toMatchObject([{ jobId: other }])
    await resume('queue:default')
    expect(await takeAll()).toMatchObject([{ jobId: paused }])
  })

  it('is not claimed from by a turn, either', async () => {
    const { db, add, pause, resume, emptyTurn } = await setupPause()
    const id = await add()
    const claimed = async () => {
      const asked = { queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1, suspect: false }
      const { leases } = await takeTurn(db, { ...emptyTurn(), claim: asked, tasks: ['test'] })
      return leases.map(({ jobId }) => jobId)
    }
    await pause('queue:default')
    expect(await claimed()).toEqual([])
    await resume('queue:default')
    expect(await claimed()).toEqual([id])
  })

  it('does not hold a key that others share, and goes on in order when it is resumed', async () => {
    const { db, gated, places, pause, resume, turn, nudges, sound } = await setupPause()
    const [a, b] = [await gated(), await gated()]
    const other = await gated({}, { queue: 'other' })
    await pause('queue:default')
    expect(await yieldPaused(db)).toEqual([a])
    expect(await places(a, b, other)).toEqual(['waiting', 'waiting', 'ready'])
    await sound()
    await cancel(db, [other], null)
    await resume('queue:default')
    await turn()
    await turn()
    expect(await places(a, b)).toEqual(['ready', 'waiting'])
    expect(await nudges()).toEqual([])
    await sound()
  })

  it('takes a job of its own aside that comes while it is paused, and can cancel it there', async () => {
    const { db, gated, places, pause, resume, turn, sound } = await setupPause()
    await pause('queue:default')
    const [a, b] = [await gated(), await gated()]
    const other = await gated({}, { queue: 'other' })
    expect(await places(a, b, other)).toEqual(['waiting', 'waiting', 'ready'])
    expect(await cancel(db, [a], null)).toMatchObject([{ answer: 'cancelled' }])
    await cancel(db, [other], null)
    await resume('queue:default')
    await turn()
    await turn()
    expect(await places(b)).toEqual(['ready'])
    await sound()
  })

  it('does not strand a job that a transaction older than the resume has taken aside', async () => {
    const bundle = await setupPause()
    const { gated, places, pause, resume, turn, nudges, sound } = bundle
    await pause('queue:default')
    const caller = await Session.open(bundle)
    await caller.begin()
    await caller.query(`select fencepost.enqueue('test', gates => '[{"key": "gate:k"}]')`)
    await resume('queue:default')
    await turn()
    await caller.commit()
    await turn()
    await turn()
    expect(await nudges()).toEqual([])
    expect(await places(await gated())).toEqual(['waiting'])
    expect(await bundle.takeAll()).toHaveLength(1)
    await sound()
  })
})

describe('a paused task', () => {
  it('is not claimed, and the other tasks of the queue are', async () => {
    const { db, add, takeAll, pause, resume } = await setupPause()
    const [paused, other] = [await add({ task: 'mail' }), await add()]
    await pause('task:mail')
    expect(await takeAll()).toMatchObject([{ jobId: other }])
    expect(await claim(db, { queue: 'default', limit: 9, worker: 'w1', tasks: ['mail'] })).toEqual([])
    await resume('task:mail')
    expect(await takeAll()).toMatchObject([{ jobId: paused }])
  })

  it('moves from one pause to the other if its queue is resumed first', async () => {
    const { gated, places, pause, resume, turn, sql, sound } = await setupPause()
    await pause('queue:default')
    await pause('task:mail')
    const job = await gated({}, { task: 'mail' })
    await resume('queue:default')
    await turn()
    expect(await sql('select gate from fencepost.waiting')).toEqual([{ gate: 'pause:task:mail' }])
    await resume('task:mail')
    await turn()
    await turn()
    expect(await places(job)).toEqual(['ready'])
    await sound()
  })
})

describe('a paused gate', () => {
  it('admits nobody, neither from an ending nor from an enqueue, until it is resumed', async () => {
    const { gated, takeAll, finishSome, places, pause, resume, turn, gate, sound } = await setupPause()
    const [, b] = [await gated(), await gated()]
    const leases = await takeAll()
    await pause('gate:k')
    await finishSome(leases)
    const c = await gated()
    await turn()
    expect(await places(b, c)).toEqual(['waiting', 'waiting'])
    expect(await gate()).toMatchObject({ held: 0 })
    await sound()
    await resume('gate:k')
    await turn()
    expect(await places(b, c)).toEqual(['ready', 'waiting'])
    await sound()
  })
})

describe('a limit that a person sets', () => {
  it('admits more with the next turn when it is raised', async () => {
    const { gated, places, setLimit, turn, sound } = await setupPause()
    const ids = [await gated(), await gated(), await gated()]
    await setLimit(2)
    await turn()
    expect(await places(...ids)).toEqual(['ready', 'ready', 'waiting'])
    await setLimit(null)
    await sound()
  })

  it('admits nobody above it when it is lowered, and kills nobody', async () => {
    const { gated, takeAll, finishSome, places, setLimit, gate, sound } = await setupPause()
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.push(await gated({ limit: 3 }))
    const leases = await takeAll()
    await setLimit(1)
    await finishSome(leases.slice(0, 1))
    expect(await places(...ids)).toEqual(['succeeded', 'leased', 'leased', 'waiting'])
    expect(await gate()).toMatchObject({ held: 2 })
    await sound()
    await finishSome(leases.slice(1, 2))
    expect(await places(...ids)).toEqual(['succeeded', 'succeeded', 'leased', 'waiting'])
    await sound()
    await finishSome(leases.slice(2))
    expect(await places(...ids)).toEqual(['succeeded', 'succeeded', 'succeeded', 'ready'])
    await sound()
  })

  it('stands before the first job comes, and stays when the last has gone', async () => {
    const { gated, takeAll, finishSome, places, setLimit, gate, sound } = await setupPause()
    await setLimit(2)
    const ids = [await gated(), await gated(), await gated()]
    expect(await places(...ids)).toEqual(['ready', 'ready', 'waiting'])
    await finishSome(await takeAll())
    await finishSome(await takeAll())
    expect(await gate()).toMatchObject({ held: 0, set_limit: 2 })
    await sound()
  })
})

it('is passed in order of priority, then of age', async () => {
  const { add, takeAll, finishSome } = await setupPause()
  const gatesText = gates({ key: 'gate:k' })
  const ids: string[] = []
  for (const priority of [5, 5, 1, 3]) ids.push(await add({ priority, gatesText }))
  const order = []
  for (let i = 0; i < 4; i++) {
    const leases = await takeAll()
    order.push(...leases.map(({ jobId }) => ids.indexOf(jobId)))
    await finishSome(leases)
  }
  expect(order).toEqual([0, 2, 3, 1])
})

it('is no concern of jobs that are not paused', async () => {
  const { db, gated, pause, places } = await setupPause()
  const id = await gated()
  await pause('queue:other')

  expect(await yieldPaused(db)).toEqual([])
  expect(await places(id)).toEqual(['ready'])
})

it('leaves the head of a strict order where it is: nobody else could pass', async () => {
  const { db, gated, pause, places } = await setupPause()
  const id = await gated({ key: 'fifo:k' })
  await pause('queue:default')

  expect(await yieldPaused(db)).toEqual([])
  expect(await places(id)).toEqual(['ready'])
})

it('of something else does not change the order of those who wait', async () => {
  const { db, gated, pause, places, sound } = await setupPause()
  await pause('queue:other')
  const holder = await gated()
  const [late, urgent] = [await gated({}, { priority: 5 }), await gated({}, { priority: -5 })]

  await cancel(db, [holder], null)

  expect(await places(late, urgent)).toEqual(['waiting', 'ready'])
  await sound()
})

it('of something else lets nobody pass the head of a strict order that is just locked', async () => {
  const { db, gated, pause, places, url, connect } = await setupPause()
  await pause('queue:other')
  const holder = await gated({ key: 'fifo:k' })
  const [head, next] = [await gated({ key: 'fifo:k' }), await gated({ key: 'fifo:k' })]
  const session = await Session.open({ url, connect })
  await session.begin()
  await session.query('select 1 from fencepost.waiting where job_id = $1 for update', [head])

  await cancel(db, [holder], null)

  expect(await places(head, next)).toEqual(['waiting', 'waiting'])
  await session.rollback()
})

it('sends nobody aside who has a place in a strict order to keep', async () => {
  const { db, gated, pause, places, sound } = await setupPause()
  const holder = await gated({ key: 'fifo:k' }, { queue: 'other' })
  const [head, next] = [await gated({ key: 'fifo:k' }), await gated({ key: 'fifo:k' }, { queue: 'other' })]
  await pause('queue:default')

  await cancel(db, [holder], null)

  expect(await places(head, next)).toEqual(['ready', 'waiting'])
  await sound()
})

it('does not strand a job that is sent aside while the pause ends', async () => {
  const bundle = await setupPause()
  const { gated, pause, resume, turn, places, nudges, sound } = bundle
  const holder = await gated({}, { queue: 'other' })
  const waiter = await gated()
  await pause('queue:default')
  const session = await Session.open(bundle)
  await session.begin()
  await cancel(session, [holder], null) // its slot is for the waiter, who goes aside
  await resume('queue:default')
  await turn()
  await session.commit()
  await turn()
  await turn()

  expect(await places(waiter)).toEqual(['ready'])
  expect(await nudges()).toEqual([])
  await sound()
})

it('of something else makes nobody wait for a waiter that is just locked', async () => {
  const bundle = await setupPause()
  const { gated, pause, places } = bundle
  await pause('queue:other')
  const holder = await gated()
  const [locked, next] = [await gated(), await gated()]
  const [locker, session] = [await Session.open(bundle), await Session.open(bundle)]
  await locker.begin()
  await locker.query('select 1 from fencepost.waiting where job_id = $1 for update', [locked])

  await cancel(session, [holder], null)

  expect(await places(locked, next)).toEqual(['waiting', 'ready'])
})

it('takes aside what nobody has locked, and waits for nobody', async () => {
  const bundle = await setupPause()
  const [locked, other] = [await bundle.gated({ limit: 2 }), await bundle.gated({ limit: 2 })]
  await bundle.pause('queue:default')
  const [locker, session] = [await Session.open(bundle), await Session.open(bundle)]
  await locker.begin()
  await locker.query('select 1 from fencepost.ready where job_id = $1 for update', [locked])

  expect(await yieldPaused(session)).toEqual([other])
})

it('answers a resume of what is not paused as such, also if the gate is there', async () => {
  const { sql } = await setupGates()
  const answers = (call: string) => sql(`select ${call} as answer`).then((rows) => rows[0])
  await sql(`select fencepost.set_limit('gate:k', 3)`)
  expect(await answers(`fencepost.pause('gate:k')`)).toEqual({ answer: true })
  expect(await answers(`fencepost.resume('gate:k')`)).toEqual({ answer: true })
  expect(await answers(`fencepost.resume('gate:k')`)).toEqual({ answer: false })
})
