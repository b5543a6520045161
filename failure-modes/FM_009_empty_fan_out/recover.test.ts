import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_009: SIGKILL at every fault point: the empty one ends, and the other ends as its items did', async () => {
  const { recover } = await bundleUnderTest('FM_009')

  const { points, broken } = await recover()

  expect(points).toBe(16)
  expect(broken).toEqual([])
}, 180_000)
