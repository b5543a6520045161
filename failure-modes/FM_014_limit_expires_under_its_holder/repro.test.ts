import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_014: with a slot that expires, another job runs beside one that holds its lease', async () => {
  const { repro } = await bundleUnderTest('FM_014')

  const played = await repro()

  expect(noteOf(played, 'maintenance', 'looks for slots that are held for too long')).toBe('lease 1 overrun')
  expect(noteOf(played, 'B', 'looks for work')).toBe('lease 2')
  expect(noteOf(played, 'A', 'finishes')).toBe('finished')
  expect(played.violations).toContain('INV_007: 2 jobs ran at the same time, the limit is 1')
})
