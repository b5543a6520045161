import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { setupGates } from '../../test/harness/gates.js'
import { takeTurn } from '../../src/store/turn.js'

it('FM_037: undisturbed, five that end together are settled in one turn, with all counters at 0', async () => {
  const { db, add, takeAll, emptyTurn, sql } = await setupGates()
  for (let n = 0; n < 5; n++) await add()
  const leases = await takeAll()

  const told = await takeTurn(db, { ...emptyTurn(), finish: leases.map((lease) => ({ ...lease, resultText: '{}' })) })

  expect(told.finish).toEqual([])
  expect(
    await sql(
      'select outcome, tries, failures, losses, releases, count(*)::integer as n from fencepost.finished group by 1, 2, 3, 4, 5',
    ),
  ).toEqual([{ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0, n: 5 }])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
