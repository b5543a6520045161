import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_034: SIGKILL at every fault point leaves the job in one place, and it comes to its end', async () => {
  const { recover } = await bundleUnderTest('FM_034')

  const { points, broken } = await recover()

  // Before each step and at each commit; a crash at the last one is the scenario itself.
  expect(points).toBe(6)
  expect(broken).toEqual([])
}, 180_000)
