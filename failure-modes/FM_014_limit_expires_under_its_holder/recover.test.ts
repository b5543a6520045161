import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_014: SIGKILL at every fault point: both are done, and never two at a time', async () => {
  const { recover } = await bundleUnderTest('FM_014')

  const { points, broken } = await recover()

  expect(points).toBe(14)
  expect(broken).toEqual([])
}, 180_000)
