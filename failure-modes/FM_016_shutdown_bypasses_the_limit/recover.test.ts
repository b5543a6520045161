import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_016: SIGKILL at every fault point: all are done, and none is run past its gate', async () => {
  const { recover } = await bundleUnderTest('FM_016')

  const { points, broken } = await recover()

  expect(points).toBe(23)
  expect(broken).toEqual([])
}, 180_000)
