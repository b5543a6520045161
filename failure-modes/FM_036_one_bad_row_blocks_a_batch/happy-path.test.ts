import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_036: undisturbed, a batch is settled as one, and every job succeeds at the first try', async () => {
  const { fp, db, see, sql } = await setupWorker()
  const charge = task('charge', { input: anything, run: (n) => n })
  const jobs = await fp.enqueueMany(
    charge,
    Array.from({ length: 20 }, (_, n) => ({ input: n })),
  )
  await fp.work([charge], { poll: '20ms', concurrency: 20 })

  expect(await Promise.all(jobs.map((job) => job.result({ timeout: '20s' })))).toEqual([...jobs.keys()])

  for (const { id } of jobs) {
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  }
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
