import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_006: fenced by the number of the attempt, the old worker ends a job it was never given', async () => {
  const { repro } = await bundleUnderTest('FM_006')

  const played = await repro()

  expect(noteOf(played, 'A', 'leases it and stalls')).toBe('lease 1')
  expect(noteOf(played, 'producer', 'sends it again under the same id')).toBe('enqueued')
  expect(noteOf(played, 'B', 'leases it and goes to work')).toBe('lease 1')
  expect(noteOf(played, 'A', 'wakes up and commits')).toBe('finished')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('already, rolled back')
  expect(played.violations).toEqual([
    'INV_003: an attempt of the deleted job ended the new one',
    'INV_001: the effect of the deleted job was applied in place of the new one’s',
  ])
})
