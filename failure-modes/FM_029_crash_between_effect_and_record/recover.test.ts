import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_029: SIGKILL at every fault point, before, in and after the call, ends in one charge and one outcome', async () => {
  const { recover } = await bundleUnderTest('FM_029')

  const { points, broken } = await recover()

  // Ten steps of a process: before each, and at each commit, the provider's included, but for the one of the story.
  expect(points).toBe(21)
  expect(broken).toEqual([])
}, 180_000)
