import { expect, it } from 'vitest'
import { bundleUnderTest } from '../../test/harness/bundle.js'

it('FM_023: SIGKILL of a producer, the worker or a server at every fault point leaves three jobs, two messages, five effects', async () => {
  const { recover } = await bundleUnderTest('FM_023')

  const { points, broken } = await recover()

  // Of the first send only before it and at its first commit: its second commit is the repetition after the cut.
  expect(points).toBe(14)
  expect(broken).toEqual([])
}, 180_000)
