import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_011: fetched beyond its room and given back, a job is charged a failure that never was', async () => {
  const { repro } = await bundleUnderTest('FM_011')

  const played = await repro()

  expect(noteOf(played, 'A', 'fetches two at a time')).toBe('fetched 2')
  expect(noteOf(played, 'A', 'gives back what it has no room for')).toBe('gave back 1')
  expect(played.violations).toEqual([
    'INV_008: failures 1, and no handler has failed',
    'INV_008: tries 2, failures 1, losses 0, releases 0; the log says 2, 0, 0, 1',
  ])
})
