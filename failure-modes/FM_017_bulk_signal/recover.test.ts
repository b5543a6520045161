import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_017: SIGKILL at every fault point ends with as many slots as were held, and all of them used', async () => {
  const { recover } = await bundleUnderTest('FM_017')

  const { points, broken } = await recover()

  expect(points).toBe(18)
  expect(broken).toEqual([])
}, 180_000)
