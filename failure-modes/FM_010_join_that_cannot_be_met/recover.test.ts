import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_010: SIGKILL at every fault point: the run comes to its end, and tells the edge that is missing', async () => {
  const { recover } = await bundleUnderTest('FM_010')

  const { points, broken } = await recover()

  expect(points).toBe(10)
  expect(broken).toEqual([])
}, 180_000)
