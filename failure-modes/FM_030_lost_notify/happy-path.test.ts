import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_030: undisturbed, a sleeping worker is notified and need not look, though it polls once an hour', async () => {
  const { fp, client, db, see, sql } = await setupWorker()
  const charge = task('charge', { input: anything, run: () => 'charged' })
  await fp.work([charge], { poll: '1h' })
  await expect.poll(() => sql('select queue from fencepost.sleeper')).toEqual([{ queue: 'default' }])

  const job = await (await client()).enqueue(charge, null)

  expect(await job.result({ timeout: '20s' })).toBe('charged')
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
