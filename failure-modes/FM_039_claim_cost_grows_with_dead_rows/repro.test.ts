import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_039: from the beginning each time, a claim reads what was claimed before it, for one job', async () => {
  const { repro } = await bundleUnderTest('FM_039')

  const played = await repro()

  expect(noteOf(played, 'A', 'does them one by one')).toMatch(/^the middle one of 9 claims read \d{2,} blocks$/)
  expect(played.violations).toEqual([
    expect.stringMatching(/^cost grows with history: a claim reads \d+ blocks to take one job$/),
  ])
})
