import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_030: with the notice alone to rely on, a worker sleeps on beside a job that is ready', async () => {
  const { repro } = await bundleUnderTest('FM_030')

  const played = await repro()

  expect(noteOf(played, 'A', 'listens, finds nothing, falls asleep')).toBe('nothing to claim, asleep')
  expect(noteOf(played, 'dba', 'ends the backend that listens')).toBe('1 backend gone')
  expect(noteOf(played, 'A', 'is asleep or awake')).toBe('no notice, sleeps on')
  expect(played.violations).toEqual([
    'INV_005: a job was ready for longer than a poll interval, beside a worker that was free',
  ])
})
