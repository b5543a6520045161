import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_052: SIGKILL at every fault point: all are done, one at a time', async () => {
  const { recover } = await bundleUnderTest('FM_052')

  const { points, broken } = await recover()

  expect(points).toBe(25)
  expect(broken).toEqual([])
}, 180_000)
