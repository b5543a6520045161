import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { aboveReadCommitted } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_005: the fence is the last statement of the transaction, and a stale one takes the effect with it', async () => {
  const { prevent } = await bundleUnderTest('FM_005')

  const played = await prevent()

  expect(noteOf(played, 'A', 'wakes up and commits')).toBe('stale, rolled back')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(played.violations).toEqual([])
})

it.each(aboveReadCommitted)(
  'FM_005: at %s, a lease lost after the snapshot is a serialization failure',
  async (level) => {
    const { db, add, take, advance, sql, placesOf } = await setup()
    await sql('create table effect (job_id uuid)')
    const id = await add()
    const lease = await take()

    const committed = db.transaction(async (tx) => {
      await tx.query(`set transaction isolation level ${level}`)
      await tx.query('insert into effect values ($1)', [id])
      await advance(31_000)
      await loseExpired(db)
      await finish(db, [{ ...lease, resultText: '1' }], tx)
    })

    await expect(committed).rejects.toMatchObject({ cause: { code: '40001' } })
    expect(await sql('select * from effect')).toEqual([])
    expect(await placesOf(id)).toEqual(['ready'])
  },
)

it('FM_005: a caller who is told stale and commits all the same is found by the audit', async () => {
  const { db, add, take, advance, sql } = await setup()
  await sql('create table effect (job_id uuid, by text)')
  const id = await add()
  const a = await take({ worker: 'A' })
  await advance(31_000)
  await loseExpired(db)

  await db.transaction(async (tx) => {
    await tx.query(`insert into effect values ($1, 'A')`, [id])
    expect(await finish(db, [{ ...a, resultText: '1' }], tx)).toMatchObject([{ answer: 'stale', outcome: null }])
  })
  const b = await take({ worker: 'B' })

  expect(await finish(db, [{ ...b, resultText: '2' }])).toMatchObject([{ answer: 'finished', duplicate: true }])
  expect(await audit(db)).toMatchObject({
    ok: true,
    findings: [{ invariant: 'INV_001', severity: 'warning', jobId: id, problem: '2 attempts reported success' }],
  })
})
