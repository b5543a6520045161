import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_030: SIGKILL at every fault point, of the sleeper, too, and the job is found and run once', async () => {
  const { recover } = await bundleUnderTest('FM_030')

  const { points, broken } = await recover()

  // Before each of the four steps of a process, and at each of their commits: four belong to falling asleep.
  expect(points).toBe(13)
  expect(broken).toEqual([])
}, 180_000)
