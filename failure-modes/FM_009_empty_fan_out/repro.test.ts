import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_009: where the item that ends last decides, one run ships what has failed, and one waits for nobody', async () => {
  const { repro } = await bundleUnderTest('FM_009')

  const played = await repro()

  expect(noteOf(played, 'A', 'makes what there is to make')).toBe('advanced, advanced')
  expect(noteOf(played, 'D', 'takes what was told')).toBe('told 2')
  expect(played.violations).toEqual([
    'INV_009: task validate was dispatched 0 times',
    'INV_009: task remedy was dispatched 0 times',
    'INV_009: shipped, with an item that has failed',
    'INV_004: a run is left running',
    'INV_009: task each#1 of run 1 waits, and all its items have ended',
  ])
})
