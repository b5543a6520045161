import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_037: SIGKILL at every fault point: four are done, uncharged, and the fifth has ended as it was asked to', async () => {
  const { recover } = await bundleUnderTest('FM_037')

  const { points, broken } = await recover()

  expect(points).toBe(15)
  expect(broken).toEqual([])
}, 180_000)
