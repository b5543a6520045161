import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_054: SIGKILL at every fault point, also of who fails the run: both runs come to their end', async () => {
  const { recover } = await bundleUnderTest('FM_054')

  const { points, broken } = await recover()

  expect(points).toBe(8)
  expect(broken).toEqual([])
}, 180_000)
