import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_048: SIGKILL at every fault point: all three are done, once each', async () => {
  const { recover } = await bundleUnderTest('FM_048')

  const { points, broken } = await recover()

  expect(points).toBe(12)
  expect(broken).toEqual([])
}, 180_000)
