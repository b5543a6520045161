import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_026: with COMMIT believed because it is no error, the application is told of a job that does not exist', async () => {
  const { repro } = await bundleUnderTest('FM_026')

  const played = await repro()

  expect(noteOf(played, 'application', 'enqueues, swallows an error, commits')).toBe('told that it is stored')
  expect(played.violations).toEqual(['INV_010: the application was told that its job is stored, and it is not'])
})
