import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_050: SIGKILL at every fault point: the job is done once', async () => {
  const { recover } = await bundleUnderTest('FM_050')

  const { points, broken } = await recover()

  expect(points).toBe(10)
  expect(broken).toEqual([])
}, 180_000)
