import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_028: with the error of the settle swallowed, the heartbeats keep the lease of a job whose handler has ended', async () => {
  const { repro } = await bundleUnderTest('FM_028')

  const played = await repro()

  expect(noteOf(played, 'A', 'says that it has finished')).toBe('no space left: swallowed')
  expect(noteOf(played, 'A', 'its heart beats')).toBe('extended')
  expect(noteOf(played, 'A', 'its heart beats again')).toBe('extended')
  expect(noteOf(played, 'B', 'looks for leases that ran out')).toBe('nothing to take back')
  // No finding of the audit is among them: a lease that is extended looks like a job at work.
  expect(played.violations).toEqual([
    'INV_004: the handler ended a minute ago, two leases long, and its job is leased still',
    'INV_005: nobody was told that the outcome was refused',
  ])
})
