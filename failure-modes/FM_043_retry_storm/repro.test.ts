import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_043: with a fixed delay, calls that failed in step come again in step, each time', async () => {
  const { repro } = await bundleUnderTest('FM_043')

  const played = await repro()

  expect(noteOf(played, 'A', 'runs them all: the API is down')).toBe('6 failed, 6 due within a second')
  expect(noteOf(played, 'A', 'runs them again: it is still down')).toBe('6 failed, 6 due within a second')
  const storm = 'unbounded load: 6 of 6 calls come again within the same second'
  expect(played.violations).toEqual([storm, storm])
})
