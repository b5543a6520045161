import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_033: by the worker’s own clock, a live lease is taken back, a loss charged, and the effect repeated', async () => {
  const { repro } = await bundleUnderTest('FM_033')

  const played = await repro()

  expect(noteOf(played, 'B', 'looks for expired leases, its clock an hour ahead')).toBe('lease 1 lost')
  expect(noteOf(played, 'B', 'leases what there is and commits')).toBe('lease 2, finished')
  expect(noteOf(played, 'A', 'commits the effect and the outcome')).toBe('finished')
  expect(played.violations).toEqual([
    'INV_008: a loss was charged for a lease with 25 seconds left',
    'INV_001: 2 effects for one job, by B and A',
  ])
})
