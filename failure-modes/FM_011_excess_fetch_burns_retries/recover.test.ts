import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_011: SIGKILL at every fault point: both are done, and none is charged for being fetched', async () => {
  const { recover } = await bundleUnderTest('FM_011')

  const { points, broken } = await recover()

  expect(points).toBe(16)
  expect(broken).toEqual([])
}, 180_000)
