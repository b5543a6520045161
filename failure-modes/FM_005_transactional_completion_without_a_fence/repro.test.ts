import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_005: with no row updated taken for success, the old worker’s effect commits and the job runs again', async () => {
  const { repro } = await bundleUnderTest('FM_005')

  const played = await repro()

  expect(noteOf(played, 'A', 'wakes up and commits')).toBe('finished')
  expect(noteOf(played, 'B', 'leases it')).toBe('lease 2')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  // The tables agree with each other: nothing but the effects tells.
  expect(played.violations).toEqual(['INV_001: 2 effects for one job, by A and B'])
})
