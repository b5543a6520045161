import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_050: counted from before the wait, a lease has run out when it is given, and its job is charged a loss', async () => {
  const { repro } = await bundleUnderTest('FM_050')

  const played = await repro()

  expect(noteOf(played, 'A', 'claims again')).toBe('is held up in the middle')
  expect(noteOf(played, 'A', 'gets its lease')).toBe('lease 1')
  expect(noteOf(played, 'B', 'takes back what has run out')).toBe('lease 1 lost')
  expect(noteOf(played, 'A', 'commits')).toBe('stale, rolled back')
  expect(played.violations).toEqual(['INV_008: a loss was charged for a lease that had just been given'])
})
