import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_027: undisturbed, a worker that was paused for less than its lease keeps it and goes on', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add()
  const lease = await take()

  await advance(29_000)
  expect(await loseExpired(db)).toEqual([])
  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  await advance(29_000)
  expect(await loseExpired(db)).toEqual([])
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished', duplicate: false }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
