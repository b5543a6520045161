import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_007: SIGKILL at every fault point: what follows is dispatched, and once', async () => {
  const { recover } = await bundleUnderTest('FM_007')

  const { points, broken } = await recover()

  // Three times: before an item's end and at its two commits, before taking and at its two, before the dispatch and at it.
  expect(points).toBe(24)
  expect(broken).toEqual([])
}, 180_000)
