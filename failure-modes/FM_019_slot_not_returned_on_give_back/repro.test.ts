import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_019: dispatched anew with its slot, a job waits for itself, and all others of its key with it', async () => {
  const { repro } = await bundleUnderTest('FM_019')

  const played = await repro()

  expect(noteOf(played, 'A', 'shuts down, and gives it back')).toBe('released: waiting, waiting')
  expect(noteOf(played, 'B', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([
    'INV_007: a job waits at a gate that nobody holds',
    'INV_007: a job waits at a gate that nobody holds',
    'INV_004: a job is left in waiting',
    'INV_004: a job is left in waiting',
    'INV_006: gate gate:card counts 1 slots, but 0 are held and 0 given back',
  ])
})
