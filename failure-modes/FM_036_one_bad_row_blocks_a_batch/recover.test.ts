import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_036: SIGKILL at every fault point, with the batch half taken apart, and each job ends as it should', async () => {
  const { recover } = await bundleUnderTest('FM_036')

  const { points, broken } = await recover()

  // Before each of the seven steps of a process, and at each of their commits: six belong to taking the batch apart.
  expect(points).toBe(24)
  expect(broken).toEqual([])
}, 180_000)
