import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_001: undisturbed, there is one lease, one effect, one outcome, and nothing is counted', async () => {
  const { db, add, take, see, sql } = await setup()
  await sql('create table effect (job_id uuid)')
  const id = await add()
  const lease = await take()

  await db.transaction(async (tx) => {
    await tx.query('insert into effect values ($1)', [id])
    const [answer] = await finish(db, [{ ...lease, resultText: '{}' }], tx)
    expect(answer?.answer).toBe('finished')
  })

  expect(await sql('select * from effect')).toEqual([{ job_id: id }])
  expect(await see(id)).toMatchObject({
    place: 'finished',
    outcome: 'succeeded',
    tries: 1,
    failures: 0,
    losses: 0,
    releases: 0,
  })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
