import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_010: a join that only counts what has come waits for an edge that never will', async () => {
  const { repro } = await bundleUnderTest('FM_010')

  const played = await repro()

  expect(noteOf(played, 'C', 'goes on from both')).toBe('advanced')
  expect(played.violations).toEqual([
    'INV_005: the join waits for an edge that will not fire, and nobody is told',
    'INV_004: a run is left running',
    'INV_009: run 1 is running, and nothing of it is under way',
  ])
})
