import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_043: SIGKILL at every fault point: all calls are done in the end, and none comes in step', async () => {
  const { recover } = await bundleUnderTest('FM_043')

  const { points, broken } = await recover()

  expect(points).toBe(20)
  expect(broken).toEqual([])
}, 180_000)
