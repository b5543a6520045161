import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_003: undisturbed, each of two workers ends its own lease, in any order', async () => {
  const { db, add, take, see, sql } = await setup()
  const [first, second] = [await add(), await add()]
  const [a, b] = [await take({ worker: 'A' }), await take({ worker: 'B' })]

  expect(await finish(db, [{ ...b, resultText: '"B"' }])).toMatchObject([{ jobId: second, answer: 'finished' }])
  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ jobId: first, answer: 'finished' }])

  for (const id of [first, second]) {
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  }
  expect(await sql('select worker, result from fencepost.finished order by worker')).toEqual([
    { worker: 'A', result: 'A' },
    { worker: 'B', result: 'B' },
  ])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
