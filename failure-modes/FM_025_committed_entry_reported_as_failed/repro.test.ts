import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_025: checked before the ledger is looked at, what is stored is reported as failed', async () => {
  const { repro } = await bundleUnderTest('FM_025')

  const played = await repro()

  expect(noteOf(played, 'server 4', 'is sent the first again')).toBe('too_large')
  expect(noteOf(played, 'server 4', 'is sent the third again')).toBe('too_large')
  expect(played.violations).toEqual([
    'INV_010: the first is stored, and its sender is told that it failed',
    'INV_010: the third is stored, and its sender is told that it failed',
  ])
})
