import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_034: moved in two statements, a job whose worker is killed between them is nowhere', async () => {
  const { repro } = await bundleUnderTest('FM_034')

  const played = await repro()

  expect(noteOf(played, 'A', 'fails it for good, and is killed in the middle')).toBe(
    'committed, then killed before the reply',
  )
  expect(played.violations).toEqual(['INV_004: a job is left in no place', 'INV_006: in no place'])
})
