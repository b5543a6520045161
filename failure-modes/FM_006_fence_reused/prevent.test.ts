import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { fail, finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_006: a lease’s number is never that of an older one, and the old worker is stale', async () => {
  const { prevent } = await bundleUnderTest('FM_006')

  const played = await prevent()

  expect(noteOf(played, 'A', 'leases it and stalls')).toBe('lease 1')
  expect(noteOf(played, 'B', 'leases it and goes to work')).toBe('lease 2')
  expect(noteOf(played, 'A', 'wakes up and commits')).toBe('stale, rolled back')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(played.violations).toEqual([])
})

/** A job with a lost lease of A's and a live one of B's; what is done between them decides how alike they are. */
async function aLostAndALiveLease(between = 'select 1') {
  const bundle = await setup()
  const id = await bundle.add()
  const a = await bundle.take({ worker: 'A' })
  await bundle.advance(31_000)
  await loseExpired(bundle.db)
  await bundle.sql(between)
  const b = await bundle.take({ worker: 'B' })
  return { ...bundle, id, a, b }
}

it('FM_006: the nonce alone tells two leases apart when a failover has set the sequence back', async () => {
  const { db, id, a, b, placesOf, sql } = await aLostAndALiveLease('alter sequence fencepost.lease_seq restart')
  expect([b.jobId, b.leaseId]).toEqual([a.jobId, a.leaseId])
  expect(b.nonce).not.toBe(a.nonce)

  expect(await extend(db, [a])).toMatchObject([{ answer: 'gone' }])
  expect(await fail(db, [{ ...a, errorText: '{}', delayMs: 0, final: true }])).toMatchObject([{ answer: 'stale' }])
  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ answer: 'stale' }])

  expect(await placesOf(id)).toEqual(['leased'])
  expect(await finish(db, [{ ...b, resultText: '"B"' }])).toMatchObject([{ answer: 'finished' }])
  // The end of B's lease is not taken for the end of A's, either.
  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ answer: 'stale', outcome: 'succeeded' }])
  expect(await sql('select worker, result from fencepost.finished')).toEqual([{ worker: 'B', result: 'B' }])
  expect(await audit(db)).toMatchObject({ ok: true })
})

it('FM_006: the number alone tells them apart when two claims have drawn the same nonce', async () => {
  const { db, id, a, b, placesOf, sql } = await aLostAndALiveLease()
  await sql('update fencepost.leased set nonce = $1', [a.nonce])

  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ answer: 'stale' }])

  expect(await placesOf(id)).toEqual(['leased'])
  expect(await finish(db, [{ ...b, nonce: a.nonce, resultText: '"B"' }])).toMatchObject([{ answer: 'finished' }])
})
