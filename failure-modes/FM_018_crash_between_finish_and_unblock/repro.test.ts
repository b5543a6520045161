import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_018: with a slot that is returned after the outcome, a kill between the two stops the card for ever', async () => {
  const { repro } = await bundleUnderTest('FM_018')

  const played = await repro()

  expect(noteOf(played, 'A', 'finishes it, and is killed')).toBe('committed, then killed before the reply')
  expect(noteOf(played, 'B', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([
    'INV_007: a job waits at a gate that nobody holds',
    'INV_004: a job is left in waiting',
    'INV_006: gate gate:card counts 1 slots, but 0 are held and 0 given back',
  ])
})
