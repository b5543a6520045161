import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_027: SIGKILL of the zombie or of the other worker at every fault point ends in one effect and one outcome', async () => {
  const { recover } = await bundleUnderTest('FM_027')

  const { points, broken } = await recover()

  // Before each step of a process but the one that only goes on, and at each commit of those that are not stopped.
  expect(points).toBe(16)
  expect(broken).toEqual([])
}, 180_000)
