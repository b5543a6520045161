import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { anEntry, setupSqs } from '../../test/harness/sqs.js'

it('FM_024: undisturbed, a batch is stored, received and deleted once', async () => {
  const { db, send, receive, remove, see, sql } = await setupSqs()
  const batch = [anEntry(), anEntry(), anEntry()]

  expect(await send(...batch)).toMatchObject(batch.map(({ id }) => ({ answer: 'sent', messageId: id })))
  const received = await receive()
  expect(received.map(({ jobId, tries }) => ({ jobId, tries }))).toEqual(
    batch.map(({ id }) => ({ jobId: id, tries: 1 })),
  )
  expect(await remove(...received)).toEqual(['deleted', 'deleted', 'deleted'])

  for (const { id } of batch) {
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  }
  expect(await receive()).toEqual([])
  expect(await sql('select message_id from fencepost.sqs_sent')).toHaveLength(3)
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
