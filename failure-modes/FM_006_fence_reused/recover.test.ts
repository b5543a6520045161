import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_006: SIGKILL at every fault point, the deletion included, ends the job that is there by its own attempt', async () => {
  const { recover } = await bundleUnderTest('FM_006')

  const { points, broken } = await recover()

  // Each of the seven steps of a process: before it, and at each of its commits.
  expect(points).toBe(17)
  expect(broken).toEqual([])
}, 180_000)
