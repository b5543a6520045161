import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_037: settled as one, a batch charges four jobs for the cancel of the fifth', async () => {
  const { repro } = await bundleUnderTest('FM_037')

  const played = await repro()

  expect(noteOf(played, 'operator', 'cancels the third')).toBe('requested')
  expect(noteOf(played, 'A', 'is told by its heartbeat')).toBe('5 extended, 1 to end')
  expect(noteOf(played, 'A', 'settles the batch')).toMatch(/4 retrying/)
  expect(played.violations).toEqual(['INV_008: 4 jobs are charged a failure, and no handler of theirs has failed'])
})
