import { expect, it, vi } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

// Each of three plays starts two dozen processes, one after the other.
vi.setConfig({ testTimeout: 300_000 })

it('FM_013: with a rescuer that does not count, the job kills every worker that there is', async () => {
  const { repro } = await bundleUnderTest('FM_013')

  const played = await repro()

  expect(noteOf(played, 'D', 'takes the lease back')).toBe('lease 3 lost')
  expect(noteOf(played, 'D', 'looks for work')).toBe('killed')
  // As often as the lab tries.
  expect(noteOf(played, 'rescuer', 'takes up what is left, 20 times')).toBe('killed')
  expect(played.violations).toEqual([
    'INV_005: at least 23 workers have died of one job, and no outcome tells of it',
    'INV_008: 23 leases were lost, and 2 may be',
    'INV_004: a job is left in leased',
    'INV_008: tries 24, failures 0, losses 0, releases 0; the log says 24, 0, 23, 0',
  ])
})
