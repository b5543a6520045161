import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_012: with one counter for every end, a deploy and a crash use up the retries of jobs that never failed', async () => {
  const { repro } = await bundleUnderTest('FM_012')

  const played = await repro()

  expect(noteOf(played, 'A', 'gives both back on SIGTERM')).toBe('released, released')
  expect(noteOf(played, 'B', 'leases both, starts one')).toBe('leases 3 and 4, failures 1 and 1')
  expect(noteOf(played, 'C', 'takes the leases back')).toBe('lease 3 failed, lease 4 failed')
  expect(noteOf(played, 'C', 'commits both')).toBe('nothing to claim')
  // The audit, too, sees it: the log tells of no failure.
  expect([...played.violations].sort()).toEqual([
    'INV_008: failures are charged to 2 jobs, and no handler has failed',
    'INV_008: the retries of 2 jobs are used up, and no handler has failed',
    'INV_008: tries 2, failures 2, losses 0, releases 0; the log says 2, 0, 0, 2',
    'INV_008: tries 2, failures 2, losses 0, releases 0; the log says 2, 0, 1, 1',
  ])
})
