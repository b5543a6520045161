import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_041: with a claim that takes what is next, a worker ends a job that it does not know, and nobody runs it', async () => {
  const { repro } = await bundleUnderTest('FM_041')

  const played = await repro()

  expect(noteOf(played, 'B', 'does not know it, looks for work')).toBe('lease 2, no handler: failed')
  expect(noteOf(played, 'C', 'knows the task, looks for work')).toBe('nothing to claim')
  // No finding of the audit is among them: by the rules of the counters, the job has failed.
  expect(played.violations).toEqual(['INV_004: the work was dropped: failed by B, and never run to its end'])
})
