import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_051: SIGKILL at every fault point: all are done, and nobody is let in above the lowered limit', async () => {
  const { recover } = await bundleUnderTest('FM_051')

  const { points, broken } = await recover()

  expect(points).toBe(30)
  expect(broken).toEqual([])
}, 180_000)
