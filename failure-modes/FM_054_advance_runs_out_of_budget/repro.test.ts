import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_054: a run whose budget is used up is never looked at again, and says that it is running', async () => {
  const { repro } = await bundleUnderTest('FM_054')

  const played = await repro()

  expect(noteOf(played, 'B', 'looks for runs with something to do')).toBe('nothing to do')
  expect(noteOf(played, 'C', 'goes on with what was told')).toBe('nothing to do')
  expect(played.violations).toEqual([
    'INV_005: nobody may advance a run any more, and it says that it is running',
    'INV_004: a run is left running',
    'INV_004: a run is left running',
  ])
})
