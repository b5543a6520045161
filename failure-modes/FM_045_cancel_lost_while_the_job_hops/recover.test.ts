import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_045: SIGKILL at every fault point: whoever was told that it is cancelled was told the truth', async () => {
  const { recover } = await bundleUnderTest('FM_045')

  const { points, broken } = await recover()

  expect(points).toBe(12)
  expect(broken).toEqual([])
}, 180_000)
