import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_031: SIGKILL at every fault point: what anyone was told is true in the end, and a committed request is kept', async () => {
  const { recover } = await bundleUnderTest('FM_031')

  const { points, broken } = await recover()

  // Ten steps of a process: before each, and at each commit; a claim has two, and so has a commit that is rolled back.
  expect(points).toBe(24)
  expect(broken).toEqual([])
}, 180_000)
