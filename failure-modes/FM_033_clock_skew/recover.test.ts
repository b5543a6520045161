import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_033: SIGKILL at every fault point: a lease that runs out by the database’s clock, and no other, is taken back', async () => {
  const { recover } = await bundleUnderTest('FM_033')

  const { points, broken } = await recover()

  // Each of the five steps of a process: before it, and at each of its commits.
  expect(points).toBe(12)
  expect(broken).toEqual([])
}, 180_000)
