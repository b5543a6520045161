import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_028: undisturbed, the outcome is said once and heard, and no lease is held afterwards', async () => {
  const { fp, db, see, sql } = await setupWorker()
  const troubles: string[] = []
  fp.on('error', ({ during }) => troubles.push(during))
  const charge = task('charge', { input: anything, run: () => 'charged' })
  await fp.work([charge], { poll: '20ms' })

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toBe('charged')
  expect(troubles).toEqual([])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.leased')).toEqual([])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
