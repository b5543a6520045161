import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_019: SIGKILL at every fault point: both are done, and none waits for itself', async () => {
  const { recover } = await bundleUnderTest('FM_019')

  const { points, broken } = await recover()

  expect(points).toBe(16)
  expect(broken).toEqual([])
}, 180_000)
