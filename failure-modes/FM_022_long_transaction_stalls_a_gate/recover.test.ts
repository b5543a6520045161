import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_022: SIGKILL at every fault point: what was committed is done, and nobody waits for the transaction', async () => {
  const { recover } = await bundleUnderTest('FM_022')

  const { points, broken } = await recover()

  expect(points).toBe(22)
  expect(broken).toEqual([])
}, 180_000)
