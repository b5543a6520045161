import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { failTogether, setupRefunds } from '../../test/harness/fan-in.js'

it('FM_007: without both layers, each of the three that see none left dispatches what follows', async () => {
  const { repro } = await bundleUnderTest('FM_007')

  const played = await repro()

  for (const worker of ['A', 'B', 'C']) expect(noteOf(played, worker, 'dispatches what follows')).toBe('advanced')
  expect(played.violations).toEqual([
    'INV_009: task validate was dispatched 3 times',
    'INV_009: task validate#1 of run 1 has 3 jobs, and made 1',
  ])
})

it('FM_007: without both layers, three items that fail together are remedied three times', async () => {
  const { layer } = await bundleUnderTest('FM_007')
  const world = await setupRefunds()
  await world.without(layer(1))
  await world.sql(layer(2))

  expect(await failTogether(world)).toEqual(['advanced', 'advanced', 'advanced'])
  expect(await world.jobsOf('remedy')).toBe(3)
})
