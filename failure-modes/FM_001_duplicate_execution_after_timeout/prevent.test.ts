import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_001: through a transactional finish there is exactly one effect; the late attempt is rolled back', async () => {
  const { prevent } = await bundleUnderTest('FM_001')

  const played = await prevent()

  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'A', 'wakes up and commits, too')).toBe('stale, rolled back')
  expect(played.violations).toEqual([])
})

it('FM_001: through a plain finish there is one outcome, and the second success is detected', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add()
  const a = await take({ worker: 'A' })
  await advance(31_000)
  await loseExpired(db)
  const b = await take({ worker: 'B' })

  const [first] = await finish(db, [{ ...b, resultText: '"B"' }])
  const [second] = await finish(db, [{ ...a, resultText: '"A"' }])

  expect(first).toMatchObject({ answer: 'finished', duplicate: false })
  expect(second).toMatchObject({ answer: 'stale', outcome: 'succeeded', duplicate: true })
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', losses: 1, failures: 0 })
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: 'B' }])
  expect(await audit(db)).toMatchObject({
    ok: true,
    findings: [{ invariant: 'INV_001', severity: 'warning', jobId: id, problem: '2 attempts reported success' }],
  })
})
