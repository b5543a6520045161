import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { fail, finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_002: undisturbed, a failure told in time is a retry, and the success after it is final', async () => {
  const { db, add, take, see, sql } = await setup()
  const id = await add()

  const failed = await fail(db, [{ ...(await take()), errorText: '{"message":"no"}', delayMs: 0, final: false }])
  const finished = await finish(db, [{ ...(await take()), resultText: '{}' }])

  expect(failed).toMatchObject([{ answer: 'retrying', outcome: null }])
  expect(finished).toMatchObject([{ answer: 'finished', outcome: 'succeeded', duplicate: false }])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 1, losses: 0, releases: 0 })
  expect(await sql('select ending, late_ending from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'failed', late_ending: null },
    { ending: 'succeeded', late_ending: null },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
