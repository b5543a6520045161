import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_046: SIGKILL at every fault point: whoever was woken, by a word that is durable, wakes up', async () => {
  const { recover } = await bundleUnderTest('FM_046')

  const { points, broken } = await recover()

  expect(points).toBe(29)
  expect(broken).toEqual([])
}, 180_000)
