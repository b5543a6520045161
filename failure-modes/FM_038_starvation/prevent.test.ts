import { expect, it } from 'vitest'
import { claim } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { takeTurn } from '../../src/store/turn.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_038: urgent jobs go first, and the oldest has its turn all the same', async () => {
  const { prevent } = await bundleUnderTest('FM_038')

  const played = await prevent()

  expect(noteOf(played, 'A', 'does 15 jobs, while 15 urgent ones arrive')).toBe('15 done; the report: ready')
  expect(noteOf(played, 'A', 'does 17 more, while 17 urgent ones arrive')).toBe('17 done; the report: succeeded')
  expect(played.violations).toEqual([])
})

it('FM_038: one turn in seventeen takes the oldest, however many of more urgency have come', async () => {
  const { db, add } = await setup()
  const [report, backup] = [await add({ priority: 50 }), await add({ priority: 100 })]
  const urgent: string[] = []
  for (let n = 0; n < 40; n++) urgent.push(await add({ priority: -1 }))

  const taken: (string | undefined)[] = []
  for (let turn = 1; turn <= 34; turn++) {
    taken.push((await claim(db, { queue: 'default', limit: 1, worker: 'w1', turn }))[0]?.jobId)
  }

  expect(taken[16]).toBe(report)
  expect(taken[33]).toBe(backup)
  expect(taken.filter((id) => id !== report && id !== backup)).toEqual(urgent.slice(0, 32))
})

it('FM_038: the oldest is started at once, before all that is claimed ahead', async () => {
  const { db, add, emptyTurn } = await setupGates()
  const report = await add({ priority: 50 })
  for (let n = 0; n < 20; n++) await add({ priority: -1 })

  const { leases } = await takeTurn(db, {
    ...emptyTurn(),
    turn: 17,
    claim: { queues: [{ queue: 'default', limit: 10, starts: 1 }], room: 10, suspect: false },
    tasks: ['test'],
  })

  expect(leases).toHaveLength(10)
  expect(leases.filter(({ started }) => started).map(({ jobId }) => jobId)).toEqual([report])
})

it('FM_038: if another claim is about to take the oldest, the next one has the turn', async () => {
  const { url, connect, db, add } = await setup()
  const [first, second] = [await add({ priority: 50 }), await add({ priority: 50 })]
  await add({ priority: -1 })
  const other = await Session.open({ url, connect })
  await other.begin()
  expect(await claim(other, { queue: 'default', limit: 1, worker: 'w2', turn: 17 })).toMatchObject([{ jobId: first }])

  expect(await claim(db, { queue: 'default', limit: 1, worker: 'w1', turn: 17 })).toMatchObject([{ jobId: second }])

  await other.commit()
})

it('FM_038: a tenant with a thousand jobs and a limit does not stand before another one’s', async () => {
  const { db, gated, takeAll, sound } = await setupGates()
  const big = { key: 'group:big', limit: 2 }
  for (let n = 0; n < 1_000; n++) await gated(big)
  const small = await gated({ key: 'group:small', limit: 2 })

  const leases = await takeAll()

  expect(leases.map(({ jobId }) => jobId)).toHaveLength(3)
  expect(leases.at(-1)?.jobId).toBe(small)
  await finish(
    db,
    leases.map((lease) => ({ ...lease, resultText: '{}' })),
  )
  await sound()
})
