import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_027: with a heartbeat that writes its lease anew, a resumed worker leases a finished job and commits it again', async () => {
  const { repro } = await bundleUnderTest('FM_027')

  const played = await repro()

  expect(noteOf(played, 'B', 'commits')).toBe('finished')
  expect(noteOf(played, 'A', 'is resumed, its heart beats')).toBe('extended, the job is finished and leased')
  expect(noteOf(played, 'A', 'commits, too')).toBe('finished')
  expect(played.violations).toContain('INV_006: a heartbeat has leased a job that is finished')
  expect(played.violations).toContain('INV_001: 2 effects for one job, by B and A')
  expect(played.violations).toContain('INV_003: the success of B did not stay; the outcome is now that of A')
})
