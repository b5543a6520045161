import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_013: SIGKILL at every fault point, before the poison works included, and the job still ends with its losses', async () => {
  const { recover } = await bundleUnderTest('FM_013')

  const { points, broken } = await recover()

  // Before each of the eight steps of a process, and at each of their commits: a lease and its start are two.
  expect(points).toBe(19)
  expect(broken).toEqual([])
}, 180_000)
