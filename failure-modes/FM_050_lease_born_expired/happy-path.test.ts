import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_050: undisturbed, a lease lasts as long as it says, in a long transaction, too', async () => {
  const { db, add, see, advance, connect } = await setup()
  const id = await add()
  const tx = await connect()
  await tx.query('begin')
  await tx.query('select now()')
  await advance(31_000)
  const [lease] = await claim(db, { queue: 'default', limit: 1, worker: 'w1' }, tx)
  await tx.query('commit')

  await advance(29_000)
  expect(await loseExpired(db)).toEqual([])
  await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: '{}' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
