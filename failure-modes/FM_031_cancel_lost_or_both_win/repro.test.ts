import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_031: told by a notification and written by id, one cancel is lost, and two both win with a completion', async () => {
  const { repro } = await bundleUnderTest('FM_031')

  const played = await repro()

  expect(noteOf(played, 'operator', 'cancels the first')).toBe('requested')
  expect(noteOf(played, 'D', 'takes leases back')).toContain('lease 1 lost')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'operator', 'cancels the second, which ran a moment ago')).toBe('cancelled')
  expect(noteOf(played, 'operator', 'cancels the third')).toBe('cancelled')
  expect(noteOf(played, 'C', 'wakes up and commits')).toBe('finished')
  expect(played.violations.filter((violation) => violation.startsWith('INV_003'))).toEqual([
    'INV_003: the cancel of job 1 was lost: it was taken up again, and has succeeded',
    'INV_003: job 3 was cancelled, and has succeeded',
    'INV_003: B has committed its success, and the job is cancelled',
  ])
})
