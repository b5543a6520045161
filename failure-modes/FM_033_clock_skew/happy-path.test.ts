import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_033: undisturbed, a lease lives for its length by the database’s clock, and from each heartbeat anew', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add({ leaseMs: 30_000 })
  const lease = await take()
  expect(lease.expiresAt.getTime() - lease.claimedAt.getTime()).toBe(30_000)

  for (let beat = 0; beat < 3; beat++) {
    await advance(25_000)
    expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
    expect(await loseExpired(db)).toEqual([])
  }
  await finish(db, [{ ...lease, resultText: '{}' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
