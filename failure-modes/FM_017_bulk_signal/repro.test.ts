import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_017: with one signal for each key, one slot is lost where two were held, and one made up where none was', async () => {
  const { repro } = await bundleUnderTest('FM_017')

  const played = await repro()

  expect(noteOf(played, 'operator', 'discards two that hold the card, one that waits for the bank')).toBe(
    'ready, waiting, ready, ready',
  )
  expect(played.violations).toContain('INV_007: 2 jobs ran at the same time, the limit is 1')
  expect(played.violations).toContain('INV_006: gate gate:card counts 1 slots, but 0 are held and 0 given back')
})
