import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_026: SIGKILL at every fault point leaves either no job, and nobody told otherwise, or one that runs', async () => {
  const { recover } = await bundleUnderTest('FM_026')

  const { points, broken } = await recover()

  // Before the step, at the end of the aborted transaction, and at the commit of the second try.
  expect(points).toBe(3)
  expect(broken).toEqual([])
}, 180_000)
