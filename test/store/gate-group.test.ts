import { expect, it } from 'vitest'
import { claim } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { takeTurn } from '../../src/store/turn.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'

const local = { gatesText: JSON.stringify([{ key: 'group:g', local: 1, onFull: 'wait' }]) }
const some = (worker: string) => ({ queue: 'default', limit: 10, worker })

async function setupGroup() {
  const bundle = await setupGates()
  const register = (worker: string) => bundle.sql(`select fencepost.register($1, 1, 'h', '0', '{}', '{}')`, [worker])
  await register('w1')
  await register('w2')
  return { ...bundle, register }
}

it('gives a process no more of a group than it may run, and the other processes the rest', async () => {
  const { db, add, sound } = await setupGroup()
  const [a, b, c] = [await add(local), await add(local), await add(local)]
  const free = await add()
  const [first] = await claim(db, some('w1'))
  expect(first).toMatchObject({ jobId: a })
  expect(await claim(db, some('w1'))).toEqual([])
  expect((await claim(db, some('w2'))).map(({ jobId }) => jobId)).toEqual([b])
  await finish(db, [{ ...(first as NonNullable<typeof first>), resultText: '1' }])
  expect((await claim(db, some('w1'))).map(({ jobId }) => jobId)).toEqual([c])
  expect(free).toBeDefined()
  await sound()
})

it('takes other jobs from behind those of a group for which there is no room', async () => {
  const { db, add } = await setupGroup()
  const [a] = [await add(local), await add(local)]
  const free = await add()
  expect((await claim(db, { queue: 'default', limit: 2, worker: 'w1' })).map(({ jobId }) => jobId)).toEqual([a, free])
})

it('counts what another claim of the same process is just taking', async () => {
  const bundle = await setupGroup()
  const { db, add } = bundle
  const [a, b] = [await add(local), await add(local)]
  const free = await add()
  const other = await Session.open(bundle)
  await other.begin()
  expect(await claim(other, { queue: 'default', limit: 1, worker: 'w1' })).toMatchObject([{ jobId: a }])
  expect((await claim(db, some('w1'))).map(({ jobId }) => jobId)).toEqual([free])
  await other.commit()
  expect(await claim(db, some('w1'))).toEqual([])
  expect((await claim(db, some('w2'))).map(({ jobId }) => jobId)).toEqual([b])
})

it('counts over the queues of one turn', async () => {
  const { db, add, emptyTurn } = await setupGroup()
  const a = await add(local)
  await add({ ...local, queue: 'other' })
  const { leases } = await takeTurn(db, {
    ...emptyTurn('w1'),
    claim: {
      queues: ['default', 'other'].map((queue) => ({ queue, limit: 5, starts: 5 })),
      room: 10,
      suspect: true,
    },
    tasks: ['test'],
  })
  expect(leases.map(({ jobId }) => jobId)).toEqual([a])
})

it('gives the room of a process to a suspect before the others of its group, which would pass it for ever', async () => {
  const { db, sql, add, emptyTurn } = await setupGroup()
  const wide = { gatesText: JSON.stringify([{ key: 'group:g', local: 1, limit: 5, onFull: 'wait' }]) }
  const suspect = await add(wide)
  const others = [await add(wide), await add(wide)]
  await sql('update fencepost.ready set losses = 1 where job_id = $1', [suspect])
  const { leases } = await takeTurn(db, {
    ...emptyTurn('w1'),
    claim: { queues: [{ queue: 'default', limit: 5, starts: 5 }], room: 5, suspect: true },
    tasks: ['test'],
  })
  expect(leases).toMatchObject([{ jobId: suspect, started: false }])
  expect(others).toHaveLength(2)
})

it('is given room by a worker that comes', async () => {
  const { add, places, register, turn, sound } = await setupGroup()
  const ids = [await add(local), await add(local), await add(local)]
  expect(await places(...ids)).toEqual(['ready', 'ready', 'waiting'])
  await register('w3')
  await turn()
  expect(await places(...ids)).toEqual(['ready', 'ready', 'ready'])
  await sound()
})

it('is no fault if a worker goes and leaves more admitted than the others can run', async () => {
  const { sql, add, sound } = await setupGroup()
  for (let i = 0; i < 3; i++) await add(local)
  await sql(`select fencepost.retire('w2')`)
  await sound()
})

it('is claimed ahead of free handlers like any other, unstarted and in its order', async () => {
  const { db, gated, add, emptyTurn } = await setupGroup()
  const [a, b] = [await gated({ limit: 5 }), await gated({ limit: 5 })]
  const free = await add()
  const { leases } = await takeTurn(db, {
    ...emptyTurn('w1'),
    claim: { queues: [{ queue: 'default', limit: 3, starts: 1 }], room: 3, suspect: false },
    tasks: ['test'],
  })
  expect(leases.map(({ jobId, started }) => [jobId, started])).toEqual([
    [a, true],
    [b, false],
    [free, false],
  ])
})

it('holds to the limit of all processes and of each', async () => {
  const { db, add, places, sound } = await setupGroup()
  const both = { gatesText: gates({ key: 'group:g', limit: 3, local: 2 }) }
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await add(both))
  expect(await claim(db, some('w1'))).toHaveLength(2)
  expect(await claim(db, some('w2'))).toHaveLength(1)
  expect(await places(...ids)).toEqual(['leased', 'leased', 'leased', 'waiting', 'waiting'])
  await sound()
})
