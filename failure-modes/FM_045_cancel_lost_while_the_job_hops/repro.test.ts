import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_045: looked for once in each place, a job that hops is found in none, and runs after its cancel', async () => {
  const { repro } = await bundleUnderTest('FM_045')

  const played = await repro()

  expect(noteOf(played, 'operator', 'cancels it')).toBe('is held up in the middle')
  expect(noteOf(played, 'A', 'commits: it is to be tried again')).toBe('retrying')
  expect(noteOf(played, 'operator', 'is told')).toBe('missing')
  expect(noteOf(played, 'B', 'takes up what is due')).toBe('lease 2, finished')
  expect(played.violations).toEqual([
    'INV_010: who cancelled it is told that there is no such job',
    'INV_003: the job was cancelled while it did not run, and ran',
  ])
})
