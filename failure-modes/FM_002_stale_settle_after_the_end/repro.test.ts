import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_002: settled by job id, a late failure undoes a success, and the job runs again', async () => {
  const { repro } = await bundleUnderTest('FM_002')

  const played = await repro()

  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'A', 'wakes up and reports a failure')).toBe('retrying')
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBe('lease 3, finished')
  expect(played.violations).toEqual([
    'INV_003: the success of B did not stay; the outcome is now that of rescuer',
    'INV_001: 2 effects for one job, by B and rescuer',
    'INV_003: an attempt ended in success, but the job is not finished as succeeded by it',
    'INV_008: tries 3, failures 1, losses 1, releases 0; the log says 3, 0, 1, 0',
  ])
})
