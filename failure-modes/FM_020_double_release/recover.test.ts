import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_020: SIGKILL at every fault point: each charge is done once, and never two at a time', async () => {
  const { recover } = await bundleUnderTest('FM_020')

  const { points, broken } = await recover()

  expect(points).toBe(20)
  expect(broken).toEqual([])
}, 180_000)
