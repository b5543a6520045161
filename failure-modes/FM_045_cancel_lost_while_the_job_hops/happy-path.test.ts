import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel } from '../../src/store/control.js'
import { fail } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_045: undisturbed, a job that is to be tried again is cancelled in its place, and never claimed', async () => {
  const { db, add, take, advance, sql, see } = await setup()
  const id = await add()
  await fail(db, [{ ...(await take()), errorText: '{}', delayMs: 60_000, final: false }])

  expect(await cancel(db, [id], 'not needed')).toMatchObject([{ answer: 'cancelled', outcome: 'cancelled' }])

  await advance(61_000)
  expect(await sql('select * from fencepost.promote()')).toEqual([])
  await expect(take()).rejects.toThrow('nothing to claim')
  expect(await see(id)).toMatchObject({ outcome: 'cancelled', reason: 'not needed', tries: 1, failures: 1, losses: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
