import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_038: undisturbed, jobs of three priorities run in the order of their urgency', async () => {
  const { fp, db, sql } = await setupWorker()
  const order: unknown[] = []
  const note = task('note', { input: anything, run: (input) => void order.push(input) })
  const jobs = []
  for (const priority of [10, 0, -10]) jobs.push(await fp.enqueue(note, priority, { priority }))

  await fp.work([note], { poll: '20ms', concurrency: 1 })

  for (const job of jobs) await job.result({ timeout: '20s' })
  expect(order).toEqual([-10, 0, 10])
  expect(await sql('select distinct tries, failures, losses from fencepost.finished')).toEqual([
    { tries: 1, failures: 0, losses: 0 },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
