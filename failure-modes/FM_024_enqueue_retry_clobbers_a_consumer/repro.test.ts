import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_024: with an upsert by the token of the request, the retry undoes whatever consumers have done', async () => {
  const { repro } = await bundleUnderTest('FM_024')

  const played = await repro()

  expect(noteOf(played, 'server 2', 'is sent the same batch: the client has heard nothing')).toBe('sent #1, #2, #3')
  expect(noteOf(played, 'consumer 2', 'receives again')).toBe('#1 (1×), #2 (1×), #3 (1×)')
  expect(noteOf(played, 'consumer', 'is done with the second, and deletes it')).toBe('#2 invalid')
  expect(noteOf(played, 'operator', 'looks for dead letters')).toBe('nothing')
  expect(played.violations).toEqual([
    'INV_001: #1 was deleted, and is received again',
    'INV_001: #2 is received by another while its consumer is at it',
    'INV_001: the receipt of #2 deletes nothing: #2 invalid',
    'INV_006: #3 was a dead letter, and is in its queue again',
    'INV_006: #3 was received once before, and that is forgotten',
    'INV_008: tries 2, failures 0, losses 0, releases 1; the log says 3, 0, 0, 2',
  ])
})
