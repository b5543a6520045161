import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_024: SIGKILL of a server, a consumer or the operator at every fault point undoes nothing that was done', async () => {
  const { recover } = await bundleUnderTest('FM_024')

  const { points, broken } = await recover()

  expect(points).toBe(22)
  expect(broken).toEqual([])
}, 180_000)
