import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_053: SIGKILL at every fault point: all three are done, and none is charged for the outage', async () => {
  const { recover } = await bundleUnderTest('FM_053')

  const { points, broken } = await recover()

  expect(points).toBe(18)
  expect(broken).toEqual([])
}, 180_000)
