import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_042: SIGKILL at every fault point: nothing is gone that nobody has said is not to be kept', async () => {
  const { recover } = await bundleUnderTest('FM_042')

  const { points, broken } = await recover()

  expect(points).toBe(20)
  expect(broken).toEqual([])
}, 180_000)
