import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_048: with a heartbeat that waits for each row, one open commit costs all other leases', async () => {
  const { repro } = await bundleUnderTest('FM_048')

  const played = await repro()

  expect(noteOf(played, 'A', 'its heart beats')).toBe('is held up in the middle')
  expect(noteOf(played, 'B', 'takes back what has run out')).toMatch(/^lease \d lost, lease \d lost$/)
  expect(noteOf(played, 'A', 'commits the first')).toBe('finished')
  expect(played.violations).toEqual(['INV_008: 2 losses were charged to a worker that lives'])
})
