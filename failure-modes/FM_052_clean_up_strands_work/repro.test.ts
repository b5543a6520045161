import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_052: removed between the look and the use, a gate forgets who holds it, and lets another in', async () => {
  const { repro } = await bundleUnderTest('FM_052')

  const played = await repro()

  expect(noteOf(played, 'maintenance', 'looks for gates that nobody uses')).toBe('is held up in the middle')
  expect(noteOf(played, 'B', 'leases it')).toBe('lease 2')
  expect(noteOf(played, 'producer', 'enqueues a third')).toBe('ready')
  expect(noteOf(played, 'C', 'looks for work')).toBe('lease 3')
  expect(played.violations).toContain('INV_007: 2 jobs ran at the same time, the limit is 1')
})
