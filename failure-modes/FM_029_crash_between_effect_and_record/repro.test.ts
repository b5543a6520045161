import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_029: with no intent and no key, the card is charged twice, and nobody knows', async () => {
  const { repro } = await bundleUnderTest('FM_029')

  const played = await repro()

  expect(noteOf(played, 'A', 'charges, is killed')).toBe('committed, then killed before the reply')
  expect(noteOf(played, 'B', 'charges')).toBe('charged')
  expect(noteOf(played, 'B', 'commits the outcome')).toBe('finished')
  expect(played.violations).toEqual([
    'INV_001: 2 charges for one job, by A and B',
    'INV_002: the card was charged, and no record says that anyone meant to',
    'INV_005: the call was repeated by a worker that was not told that it may have happened',
  ])
})
