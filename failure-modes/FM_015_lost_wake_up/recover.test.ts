import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_015: SIGKILL at every fault point: whatever was stored runs, one at a time', async () => {
  const { recover } = await bundleUnderTest('FM_015')

  const { points, broken } = await recover()

  expect(points).toBe(16)
  expect(broken).toEqual([])
}, 180_000)
