import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_038: by priority alone, what is not urgent waits for as long as urgent jobs arrive', async () => {
  const { repro } = await bundleUnderTest('FM_038')

  const played = await repro()

  expect(noteOf(played, 'A', 'does 15 jobs, while 15 urgent ones arrive')).toBe('15 done; the report: ready')
  expect(noteOf(played, 'A', 'does 17 more, while 17 urgent ones arrive')).toBe('17 done; the report: ready')
  expect(played.violations).toEqual([
    'unbounded wait: 32 jobs came after the report, and all of them were done before it',
  ])
})
