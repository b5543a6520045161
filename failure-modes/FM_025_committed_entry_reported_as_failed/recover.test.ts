import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_025: SIGKILL of a server or the operator at every fault point: what is stored is told as stored', async () => {
  const { recover } = await bundleUnderTest('FM_025')

  const { points, broken } = await recover()

  expect(points).toBe(15)
  expect(broken).toEqual([])
}, 180_000)
