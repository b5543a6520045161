import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_015: one reads "full" while the other finds no waiter, and the job waits for ever at a free gate', async () => {
  const { repro } = await bundleUnderTest('FM_015')

  const played = await repro()

  expect(noteOf(played, 'B', 'enqueues another and finds the card busy')).toBe('is held up in the middle')
  expect(noteOf(played, 'A', 'finishes, and looks who is next')).toBe('finished')
  expect(noteOf(played, 'B', 'commits as waiting')).toBe('waiting')
  expect(noteOf(played, 'C', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toContain('INV_007: a job waits at a gate that nobody holds')
  expect(played.violations).toContain('INV_004: a job is left in waiting')
})
