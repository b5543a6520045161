import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_022: with a gate that is locked in a caller’s transaction, whoever finishes waits for it, and so does the next', async () => {
  const { repro } = await bundleUnderTest('FM_022')

  const played = await repro()

  expect(noteOf(played, 'A', 'finishes the first')).toBe('is held up in the middle')
  expect(noteOf(played, 'B', 'looks for work')).toBe('nothing to claim')
  expect(noteOf(played, 'app', 'commits at last')).toBe('enqueued')
  expect(noteOf(played, 'A', 'has finished')).toBe('finished')
  expect(played.violations).toEqual(['INV_007: a slot was not handed on as long as a stranger’s transaction was open'])
})
