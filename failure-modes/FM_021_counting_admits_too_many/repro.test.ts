import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_021: counted without a lock, two charges run at the same time where one is the limit', async () => {
  const { repro } = await bundleUnderTest('FM_021')

  const played = await repro()

  expect(noteOf(played, 'A', 'enqueues a charge, and counts')).toBe('is held up in the middle')
  expect(noteOf(played, 'B', 'enqueues another, and counts')).toBe('ready')
  expect(noteOf(played, 'A', 'acts on its count')).toBe('ready')
  expect(noteOf(played, 'worker 1', 'leases a charge')).toBe('lease 1')
  expect(noteOf(played, 'worker 2', 'leases a charge')).toBe('lease 2')
  expect(played.violations).toContain('INV_007: 2 jobs ran at the same time, the limit is 1')
})
