import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_047: SIGKILL at every fault point: both are done, each by a worker that held it', async () => {
  const { recover } = await bundleUnderTest('FM_047')

  const { points, broken } = await recover()

  expect(points).toBe(17)
  expect(broken).toEqual([])
}, 180_000)
