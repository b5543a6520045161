import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_016: given back past its gate, a job runs beside the one that has its slot by now', async () => {
  const { repro } = await bundleUnderTest('FM_016')

  const played = await repro()

  expect(noteOf(played, 'maintenance', 'gives its slot to the next')).toBe('lease 1 overrun')
  expect(noteOf(played, 'B', 'leases the second')).toBe('lease 2')
  expect(noteOf(played, 'A', 'shuts down, and gives the first back')).toBe('released')
  expect(noteOf(played, 'C', 'looks for work')).toBe('lease 3')
  expect(played.violations).toContain('INV_007: a job that was given back runs beside the one that has its slot')
})
