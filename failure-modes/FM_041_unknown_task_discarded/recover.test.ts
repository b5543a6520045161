import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_041: SIGKILL at every fault point, of those who know the task or of the one who does not, and the job is run', async () => {
  const { recover } = await bundleUnderTest('FM_041')

  const { points, broken } = await recover()

  // Before each of the five steps of a process, and at each of their commits.
  expect(points).toBe(13)
  expect(broken).toEqual([])
}, 180_000)
