import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_053: with expiry read as death, an outage is charged to every job that was running', async () => {
  const { repro } = await bundleUnderTest('FM_053')

  const played = await repro()

  expect(noteOf(played, 'maintenance', 'looks, first of all when it is back')).toBe(
    'lease 1 lost, lease 2 lost, lease 3 lost',
  )
  expect(noteOf(played, 'A', 'beats for all, as soon as it can')).toBe('gone, gone, gone')
  expect(noteOf(played, 'A', 'finishes all three')).toBe('stale, stale, stale')
  expect(played.violations).toEqual(['INV_008: 3 losses were charged for the time without a database'])
})
