import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_044: SIGKILL at every fault point: no result without its effect, and each effect once', async () => {
  const { recover } = await bundleUnderTest('FM_044')

  const { points, broken } = await recover()

  // Ten steps of a process: before each, and at each commit, but for the two of the story.
  expect(points).toBe(23)
  expect(broken).toEqual([])
}, 180_000)
