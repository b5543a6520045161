import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_046: where each looks first and writes then, four sleep on after they were woken', async () => {
  const { repro } = await bundleUnderTest('FM_046')

  const played = await repro()

  expect(noteOf(played, 'operator', 'signals the one that is about to wait')).toBe('sent')
  expect(noteOf(played, 'P', 'parks its job')).toBe('is held up in the middle')
  expect(noteOf(played, 'operator', 'approves what is about to be parked')).toBe('kept')
  expect(noteOf(played, 'A', 'lets them wait')).toBe('is held up in the middle')
  expect(noteOf(played, 'P', 'commits as parked')).toBe('parked')
  expect(played.violations).toEqual([
    'INV_005: a run waits for another that has ended',
    'INV_009: a task waits for items that have all ended',
    'INV_005: a run waits for a signal that was sent',
    'INV_005: a job waits for a signal that was sent',
    'INV_009: run 2 was told something, and nobody is called',
    'INV_009: task each#1 of run 2 waits, and all its items have ended',
  ])
})
