import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_004: undisturbed, a rescuer finds nothing: not while the lease is kept alive, and not after the end', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add()
  const lease = await take()

  await advance(20_000)
  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  await advance(20_000)
  expect(await loseExpired(db)).toEqual([])
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])
  await advance(60_000)
  expect(await loseExpired(db)).toEqual([])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
