import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_018: SIGKILL at every fault point ends with both charges done, one after the other', async () => {
  const { recover } = await bundleUnderTest('FM_018')

  const { points, broken } = await recover()

  expect(points).toBe(12)
  expect(broken).toEqual([])
}, 180_000)
