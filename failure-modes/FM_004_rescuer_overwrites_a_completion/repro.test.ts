import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_004: a rescuer that selects first and puts back by id undoes a success', async () => {
  const { repro } = await bundleUnderTest('FM_004')

  const played = await repro()

  expect(noteOf(played, 'rescuer 1', 'looks for expired leases')).toBe('is held up in the middle')
  expect(noteOf(played, 'A', 'commits')).toBe('finished')
  expect(noteOf(played, 'rescuer 1', 'puts back what it found')).toBe('lease 1 lost')
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBe('lease 2, finished')
  // No finding of the audit is among them: the log agrees with itself, and only A knows better.
  expect(played.violations).toEqual([
    'INV_003: the success of A did not stay; the outcome is now that of rescuer',
    'INV_004: recovery calls the attempt lost that had succeeded',
    'INV_001: 2 effects for one job, by A and rescuer',
  ])
})
