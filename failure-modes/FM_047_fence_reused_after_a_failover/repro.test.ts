import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_047: by a number that comes again after a failover, a worker ends the job of another', async () => {
  const { repro } = await bundleUnderTest('FM_047')

  const played = await repro()

  expect(noteOf(played, 'A', 'leases it and goes to work')).toBe('lease 1')
  expect(noteOf(played, 'B', 'leases the urgent one')).toBe('lease 1')
  expect(noteOf(played, 'A', 'commits the first one’s effect')).toBe('finished')
  expect(noteOf(played, 'B', 'commits the urgent one’s effect')).toBe('already, rolled back')
  expect(played.violations).toEqual([
    'INV_003: the urgent job has succeeded by the word of another job’s worker',
    'INV_001: 2 effects for one job, by A and rescuer',
    'INV_004: a job is succeeded without its effect',
  ])
})
