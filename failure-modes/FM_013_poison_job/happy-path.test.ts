import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_013: undisturbed, a job that runs for many leases’ time under its heartbeat loses none of them', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add({ lossesMax: 0 })
  const lease = await take()

  for (let n = 0; n < 5; n++) {
    await advance(20_000)
    expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
    expect(await loseExpired(db)).toEqual([])
  }
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
