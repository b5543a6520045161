import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_028: SIGKILL at every fault point, between the refusal and the repeat included, and the job ends once', async () => {
  const { recover } = await bundleUnderTest('FM_028')

  const { points, broken } = await recover()

  // Before each of the seven steps of a process, and at each of their commits: two of them belong to the settle.
  expect(points).toBe(15)
  expect(broken).toEqual([])
}, 180_000)
