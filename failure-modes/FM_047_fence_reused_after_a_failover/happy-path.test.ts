import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_047: undisturbed, lease numbers grow, each with a random number of its own, and each ends its own job', async () => {
  const { db, add, take, see } = await setup()
  const ids = [await add(), await add(), await add()]
  const leases = [await take(), await take(), await take()]

  const numbers = leases.map(({ leaseId }) => leaseId)
  expect(numbers).toEqual([...numbers].sort((one, other) => one - other))
  expect(new Set(leases.map(({ nonce }) => nonce)).size).toBe(3)
  for (const lease of leases) {
    expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished', duplicate: false }])
  }

  for (const id of ids) expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
