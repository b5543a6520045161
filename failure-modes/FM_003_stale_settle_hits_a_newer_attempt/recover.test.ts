import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_003: SIGKILL at every fault point ends in one effect, by the attempt that holds the lease', async () => {
  const { recover } = await bundleUnderTest('FM_003')

  const { points, broken } = await recover()

  // Each of the six steps of a process: before it, and at each of its commits.
  expect(points).toBe(15)
  expect(broken).toEqual([])
}, 180_000)
