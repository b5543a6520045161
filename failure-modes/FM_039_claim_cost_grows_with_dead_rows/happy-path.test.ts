import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_039: undisturbed, three hundred jobs run once each, urgent ones first', async () => {
  const { fp, db, sql } = await setupWorker()
  const order: unknown[] = []
  const note = task('note', { input: anything, run: (input) => void order.push(input) })
  const jobs = await fp.enqueueMany(
    note,
    Array.from({ length: 300 }, (_, input) => ({ input })),
  )
  jobs.push(await fp.enqueue(note, 'urgent', { priority: -1 }))

  // One handler: two turns of one worker take from both ends of what is urgent, and the later one may be answered first.
  await fp.work([note], { poll: '20ms', concurrency: 1 })

  for (const job of jobs) await job.result({ timeout: '30s' })
  expect(new Set(order).size).toBe(301)
  expect(order[0]).toBe('urgent')
  expect(await sql('select distinct tries, failures, losses from fencepost.finished')).toEqual([
    { tries: 1, failures: 0, losses: 0 },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
