import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_051: handed on whatever the limit, a slot above the lowered limit lets another in', async () => {
  const { repro } = await bundleUnderTest('FM_051')

  const played = await repro()

  expect(noteOf(played, 'A', 'finishes')).toBe('finished')
  expect(noteOf(played, 'D', 'looks for work')).toBe('lease 4')
  expect(played.violations).toContain('INV_007: a job was let in beside two others, the limit is 1')
})
