import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_038: SIGKILL at every fault point: the report is done', async () => {
  const { recover } = await bundleUnderTest('FM_038')

  const { points, broken } = await recover()

  expect(points).toBe(8)
  expect(broken).toEqual([])
}, 180_000)
