import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_036: with a batch that is repeated as it is, one result that cannot be stored keeps four others from ending', async () => {
  const { repro } = await bundleUnderTest('FM_036')

  const played = await repro()

  expect(noteOf(played, 'A', 'says that all five have finished')).toBe('refused, kept')
  expect(noteOf(played, 'A', 'heart beats; says it again')).toBe('5 extended; refused, kept')
  expect(noteOf(played, 'A', 'heart beats; says it once more')).toBe('5 extended; refused, kept')
  expect(noteOf(played, 'B', 'looks what has ended')).toBe('0 ended, nothing to take back')
  expect(played.violations).toEqual(['INV_005: five handlers have ended and 0 jobs; nobody is told which is the cause'])
})
