import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_040: SIGKILL at every fault point ends with both jobs ended, and no deadlock on the way', async () => {
  const { recover } = await bundleUnderTest('FM_040')

  const { points, broken } = await recover()

  expect(points).toBe(11)
  expect(broken).toEqual([])
}, 180_000)
