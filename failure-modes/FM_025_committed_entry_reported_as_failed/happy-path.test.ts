import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { anEntry, setupSqs } from '../../test/harness/sqs.js'

it('FM_025: undisturbed, an entry within the limit is stored, and one beyond it is refused', async () => {
  const { db, send, sql } = await setupSqs({ maximumMessageSize: 1_024 })
  const [fits, tooLarge] = [anEntry({ size: 1_024 }), anEntry({ size: 1_025 })]

  expect(await send(fits, tooLarge)).toMatchObject([{ answer: 'sent', messageId: fits.id }, { answer: 'too_large' }])

  expect(await sql('select id from fencepost.job')).toEqual([{ id: fits.id }])
  expect(await sql('select message_id from fencepost.sqs_sent')).toEqual([{ message_id: fits.id }])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
