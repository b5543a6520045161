import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_044: remembered first and written then, in two transactions, the work is believed and not there', async () => {
  const { repro } = await bundleUnderTest('FM_044')

  const played = await repro()

  expect(noteOf(played, 'A', 'pays, is killed')).toBe('committed, then killed before the reply')
  expect(noteOf(played, 'C', 'goes on with it')).toBe('done, finished')
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBe('lease 4, done, finished')
  expect(played.violations).toEqual([
    'INV_002: the result of a step is recorded, and its effect is not there',
    'INV_002: the result of a step is recorded, and its effect is not there',
    'INV_004: a job is succeeded without its effect',
    'INV_004: a job is succeeded without its effect',
  ])
})
