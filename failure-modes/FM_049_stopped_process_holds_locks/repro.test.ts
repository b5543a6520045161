import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_049: stopped between its finish and its COMMIT, a process keeps a gate from everyone, past every lease', async () => {
  const { repro } = await bundleUnderTest('FM_049')

  const played = await repro()

  expect(noteOf(played, 'A', 'finishes it in a transaction with its effect')).toBe('finished, not committed yet')
  expect(noteOf(played, 'A', 'is stopped before it has said COMMIT')).toBe('SIGSTOP')
  expect(noteOf(played, 'B', 'finishes the second')).toBe('is held up in the middle')
  expect(noteOf(played, 'C', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([
    'INV_007: a slot was not handed on, past every lease, because a process stood still',
  ])
})
