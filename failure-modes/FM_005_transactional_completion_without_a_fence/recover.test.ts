import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_005: SIGKILL at every fault point leaves the effect and the outcome together, once', async () => {
  const { recover } = await bundleUnderTest('FM_005')

  const { points, broken } = await recover()

  // Each of the six steps of a process: before it, and at each of its commits.
  expect(points).toBe(15)
  expect(broken).toEqual([])
}, 180_000)
