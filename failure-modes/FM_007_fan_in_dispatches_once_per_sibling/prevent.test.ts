import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { failTogether, setupRefunds } from '../../test/harness/fan-in.js'
import { Session } from '../../test/harness/session.js'

const dispatches = 'dispatches what follows'

it('FM_007: the first that dispatches changes the run, and what the others have decided is void', async () => {
  const { prevent } = await bundleUnderTest('FM_007')

  const played = await prevent()

  expect(noteOf(played, 'A', dispatches)).toBe('advanced')
  expect(noteOf(played, 'B', dispatches)).toBe('conflict')
  expect(noteOf(played, 'C', dispatches)).toBe('conflict')
  expect(played.violations).toEqual([])
})

it('FM_007: derived ids alone are enough: all three dispatch, and it is the same job', async () => {
  const { preventWithoutLayer } = await bundleUnderTest('FM_007')

  const played = await preventWithoutLayer(1)

  for (const worker of ['A', 'B', 'C']) expect(noteOf(played, worker, dispatches)).toBe('advanced')
  expect(played.violations).toEqual([])
})

it('FM_007: the stored run alone is enough: ids that are made up at each dispatch are made up once', async () => {
  const { preventWithoutLayer } = await bundleUnderTest('FM_007')

  const played = await preventWithoutLayer(2)

  expect(['A', 'B', 'C'].map((worker) => noteOf(played, worker, dispatches))).toEqual([
    'advanced',
    'conflict',
    'conflict',
  ])
  expect(played.violations).toEqual([])
})

it.each([
  ['with both layers', [], ['advanced', 'conflict', 'conflict']],
  ['by derived ids alone', [1], ['advanced', 'advanced', 'advanced']],
  ['by the stored run alone', [2], ['advanced', 'conflict', 'conflict']],
])('FM_007: three items that fail together are remedied once %s', async (_, off, answers) => {
  const { layer } = await bundleUnderTest('FM_007')
  const world = await setupRefunds()
  for (const n of off) await world.without(layer(n))

  expect(await failTogether(world)).toEqual(answers)

  expect(await world.jobsOf('remedy')).toBe(1)
  await world.runItems(['remedy'])
  await world.steps.advanceAll()
  expect(await world.stateOf(world.run)).toMatchObject({ state: 'succeeded' })
})

it('FM_007: one that meets another in flight does not wait, and decides anew if that one comes to nothing', async () => {
  const world = await setupRefunds()
  await world.runItems(['refund'], 'fail')
  const sessions = [await Session.open(world), await Session.open(world)] as const
  const [first, second] = [world.stepsOn(sessions[0]), world.stepsOn(sessions[1])]
  await first.take()
  await world.advance(11_000)
  await second.take()
  await sessions[0].begin()
  expect(await first.advance()).toBe('advanced')

  expect(await second.advance()).toBe('locked')
  await sessions[0].rollback()

  expect(await world.jobsOf('remedy')).toBe(0)
  await world.advance(11_000)
  expect(await second.advanceAll()).toBe('advanced')
  expect(await world.jobsOf('remedy')).toBe(1)
})
