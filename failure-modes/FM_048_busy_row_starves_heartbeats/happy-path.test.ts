import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_048: undisturbed, one heartbeat keeps all leases of a process, and all of them finish', async () => {
  const { db, add, take, advance, see } = await setup()
  const ids = [await add(), await add(), await add()]
  const leases = [await take(), await take(), await take()]

  for (let beat = 0; beat < 3; beat++) {
    await advance(20_000)
    expect(new Set((await extend(db, leases)).map(({ answer }) => answer))).toEqual(new Set(['extended']))
    expect(await loseExpired(db)).toEqual([])
  }
  await finish(
    db,
    leases.map((lease) => ({ ...lease, resultText: '{}' })),
  )

  for (const id of ids)
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
