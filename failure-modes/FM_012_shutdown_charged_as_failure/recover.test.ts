import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_012: SIGKILL at every fault point, in the middle of the giving back included, charges no failure and loses no job', async () => {
  const { recover } = await bundleUnderTest('FM_012')

  const { points, broken } = await recover()

  // Before each of the seven steps of a process, and at each of their commits; the last step alone has six.
  expect(points).toBe(20)
  expect(broken).toEqual([])
}, 180_000)
