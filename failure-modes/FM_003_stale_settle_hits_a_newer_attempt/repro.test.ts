import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_003: with the state checked and not the owner, the old attempt ends the newer one’s lease', async () => {
  const { repro } = await bundleUnderTest('FM_003')

  const played = await repro()

  expect(noteOf(played, 'A', 'wakes up and commits')).toBe('finished')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(played.violations).toEqual([
    'INV_001: 2 effects for one job, by A and B',
    'INV_003: succeeded, but the log says that the lease which ended it lost',
    'INV_003: an attempt ended in success, but the job is not finished as succeeded by it',
  ])
})
