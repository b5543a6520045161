import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_004: SIGKILL of the worker or of the rescuer at every fault point ends in one effect and one outcome', async () => {
  const { recover } = await bundleUnderTest('FM_004')

  const { points, broken } = await recover()

  // Before each step but the last, which only goes on, and at each commit; the open transaction ends when it is closed.
  expect(points).toBe(10)
  expect(broken).toEqual([])
}, 180_000)
