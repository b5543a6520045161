import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_020: returned by job id, a stale word frees the slot of the one who runs, and another runs beside it', async () => {
  const { repro } = await bundleUnderTest('FM_020')

  const played = await repro()

  expect(noteOf(played, 'B', 'leases it')).toBe('lease 2')
  expect(noteOf(played, 'A', 'wakes up and says that it is done')).toBe('stale')
  expect(noteOf(played, 'C', 'looks for work')).toBe('lease 3')
  expect(played.violations).toContain('INV_007: 2 jobs ran at the same time, the limit is 1')
})
