import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { reapExpired } from '../../src/store/worker.js'
import { setup } from '../../test/harness/setup.js'

it('FM_053: undisturbed, a job that beats runs for ten leases, under the eyes of a reaper that takes nothing back', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add()
  await reapExpired(db, 500)
  const lease = await take()

  for (let passed = 0; passed < 300_000; passed += 10_000) {
    await advance(10_000)
    expect(await reapExpired(db, 500)).toEqual([])
    expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  }
  await finish(db, [{ ...lease, resultText: '{}' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
