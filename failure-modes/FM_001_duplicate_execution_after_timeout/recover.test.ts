import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_001: SIGKILL at every fault point, after COMMIT and before its reply included, ends in one effect and one outcome', async () => {
  const { recover } = await bundleUnderTest('FM_001')

  const { points, broken } = await recover()

  // Each of the six steps of a process: before it, and at each of its commits.
  expect(points).toBe(15)
  expect(broken).toEqual([])
}, 180_000)
