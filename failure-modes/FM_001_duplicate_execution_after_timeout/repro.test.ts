import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_001: settled by job id, one job has two effects and two successful executions', async () => {
  const { repro } = await bundleUnderTest('FM_001')

  const played = await repro()

  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'A', 'wakes up and commits, too')).toBe('finished')
  expect(played.violations).toContain('INV_001: 2 effects for one job, by B and A')
  expect(played.violations).toContain('INV_001: 2 executions of one job reached terminal success')
})
