import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { retryEnded } from '../../src/store/control.js'
import { fail, finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_034: undisturbed, a dead letter is kept with its error, and a person’s retry takes it out again', async () => {
  const { db, add, take, see, sql } = await setup()
  const id = await add()
  const failed = await fail(db, [{ ...(await take()), errorText: '{"message":"no"}', delayMs: 0, final: true }])

  expect(failed).toMatchObject([{ answer: 'failed', outcome: 'failed' }])
  expect(await see(id)).toMatchObject({ place: 'finished', outcome: 'failed', reason: 'not_retryable', failures: 1 })
  expect(await sql('select error from fencepost.finished')).toEqual([{ error: { message: 'no' } }])

  expect(await retryEnded(db, [id])).toMatchObject([{ answer: 'retried' }])
  await finish(db, [{ ...(await take()), resultText: '{}' }])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 1, losses: 0, releases: 0 })
  expect(await sql('select ending, outcome, error from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'failed', outcome: 'failed', error: { message: 'no' } },
    { ending: 'succeeded', outcome: null, error: null },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
