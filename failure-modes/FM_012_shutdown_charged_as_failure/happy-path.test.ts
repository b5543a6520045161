import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'

it('FM_012: undisturbed, a worker that is told to stop lets its handler end, and nothing is given back', async () => {
  const { fp, db, see, sql } = await setupWorker()
  const gate = door()
  const charge = task('charge', { input: anything, run: () => gate.pass().then(() => 'charged') })
  const worker = await fp.work([charge], { poll: '20ms', grace: '30s' })
  const running = gate.reached()
  const job = await fp.enqueue(charge, null)
  await running

  const stopped = worker.stop()
  gate.open()
  await stopped

  expect(await job.result({ timeout: '10s' })).toBe('charged')
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
