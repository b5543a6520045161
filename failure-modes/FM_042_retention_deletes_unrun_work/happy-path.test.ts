import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { sweepMessages } from '../../src/store/sqs-messages.js'
import { anEntry, setupSqs } from '../../test/harness/sqs.js'

it('FM_042: undisturbed, messages that are received in time are never swept', async () => {
  const { db, send, receive, advance, see, sound } = await setupSqs({ messageRetentionPeriod: 60 })
  const entries = [anEntry(), anEntry()]
  await send(...entries)
  await advance(59_000)

  expect(await sweepMessages(db, 0)).toBe(0)
  expect(await receive({ max: 10 })).toHaveLength(2)
  await advance(5_000)
  expect(await sweepMessages(db, 0)).toBe(0)

  for (const { id } of entries) expect(await see(id)).toMatchObject({ place: 'leased', tries: 1 })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
  await sound()
})
