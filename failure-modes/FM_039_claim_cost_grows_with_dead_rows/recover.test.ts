import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_039: SIGKILL at every fault point: all are done, and no claim has cost more', async () => {
  const { recover } = await bundleUnderTest('FM_039')

  const { points, broken } = await recover()

  expect(points).toBe(6)
  expect(broken).toEqual([])
}, 180_000)
