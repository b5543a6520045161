import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_002: SIGKILL at every fault point ends in one success that stays', async () => {
  const { recover } = await bundleUnderTest('FM_002')

  const { points, broken } = await recover()

  // Each of the six steps of a process: before it, and at each of its commits.
  expect(points).toBe(14)
  expect(broken).toEqual([])
}, 180_000)
