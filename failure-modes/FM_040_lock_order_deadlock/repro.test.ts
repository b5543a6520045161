import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_040: gate then row against row then gate is a deadlock', async () => {
  const { repro } = await bundleUnderTest('FM_040')

  const played = await repro()

  expect(noteOf(played, 'operator', 'cancels it')).toBe('is held up in the middle')
  expect(noteOf(played, 'A', 'finishes it')).toBe('is held up in the middle')
  // Which of the two it is that the server undoes is its own affair.
  expect([noteOf(played, 'operator', 'goes on'), noteOf(played, 'A', 'goes on')]).toContain('deadlock')
  expect(played.violations).toEqual(['a deadlock: each waited for what the other held'])
})
