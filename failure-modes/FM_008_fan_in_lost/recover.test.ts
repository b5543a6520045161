import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_008: SIGKILL at every point between the last item’s end and its successor’s: it runs, and once', async () => {
  const { recover } = await bundleUnderTest('FM_008')

  const { points, broken } = await recover()

  expect(points).toBe(22)
  expect(broken).toEqual([])
}, 180_000)
