import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_049: SIGKILL at every fault point: all three are done, and nobody waits for a process that stands still', async () => {
  const { recover } = await bundleUnderTest('FM_049')

  const { points, broken } = await recover()

  expect(points).toBe(19)
  expect(broken).toEqual([])
}, 180_000)
