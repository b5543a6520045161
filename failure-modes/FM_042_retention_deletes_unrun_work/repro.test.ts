import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_042: removed by their age alone, work that waits and work that runs are gone without a trace', async () => {
  const { repro } = await bundleUnderTest('FM_042')

  const played = await repro()

  expect(noteOf(played, 'server', 'sweeps what is too old')).toBe('3 swept')
  expect(noteOf(played, 'consumer', 'is done with the first')).toBe('#1 invalid')
  expect(noteOf(played, 'worker', 'is back, and runs the report')).toBe('nothing to claim')
  expect(played.violations).toEqual([
    'INV_004: a message was removed while its consumer was at it',
    'INV_004: a message is gone, and no outcome tells why',
    'INV_004: a job that was never run is gone without a trace',
  ])
})
