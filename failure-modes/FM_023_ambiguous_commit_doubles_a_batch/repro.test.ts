import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'

it('FM_023: with ids made by the database and no ledger, each repetition of a batch is another batch', async () => {
  const { repro } = await bundleUnderTest('FM_023')

  const played = await repro()

  expect(noteOf(played, 'producer', 'enqueues three charges; the reply is lost')).toBe('enqueued')
  expect(noteOf(played, 'producer 2', 'takes over from the producer and sends the same batch')).toBe('enqueued')
  expect(played.violations).toEqual([
    'INV_001: 15 effects for 3 charges and 2 messages',
    'INV_010: 15 jobs are stored, and their senders know of 5',
    'INV_010: a client was told the id of a message that is not stored',
  ])
})
