import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_049: undisturbed, handlers that commit with their effects pass a gate one after the other', async () => {
  const { fp, db, sql } = await setupWorker()
  await sql('create table charge (n int)')
  const charge = task('charge', {
    input: anything,
    gate: { key: 'card', limit: 1 },
    run: (input, job) => job.commit((tx) => tx.query('insert into charge values ($1)', [input]).then(() => input)),
  })
  const jobs = []
  for (let n = 0; n < 5; n++) jobs.push(await fp.enqueue(charge, n))

  await fp.work([charge], { poll: '20ms', concurrency: 3 })

  for (const [n, job] of jobs.entries()) expect(await job.result({ timeout: '20s' })).toBe(n)
  expect(await sql('select n from charge order by ctid')).toEqual([0, 1, 2, 3, 4].map((n) => ({ n })))
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
