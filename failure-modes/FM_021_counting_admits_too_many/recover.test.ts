import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_021: SIGKILL at every fault point: never two at a time, and in the end both have run', async () => {
  const { recover } = await bundleUnderTest('FM_021')

  const { points, broken } = await recover()

  expect(points).toBe(17)
  expect(broken).toEqual([])
}, 180_000)
