import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_011: undisturbed, one process runs a group one at a time beside others, with all counters at 0', async () => {
  const { fp, db, sql } = await setupWorker()
  let running = 0
  let most = 0
  const report = task('report', {
    input: anything,
    group: { id: 'bulk', perProcess: 1 },
    async run(input) {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      return input
    },
  })
  const mail = task('mail', { input: anything, run: (input) => input })
  const jobs = []
  for (let n = 0; n < 12; n++) jobs.push(await fp.enqueue(n % 3 === 0 ? mail : report, n))

  await fp.work([report, mail], { poll: '20ms', concurrency: 10 })

  for (const [n, job] of jobs.entries()) expect(await job.result({ timeout: '20s' })).toBe(n)
  expect(most).toBe(1)
  expect(await sql('select distinct tries, failures, losses, releases from fencepost.finished')).toEqual([
    { tries: 1, failures: 0, losses: 0, releases: 0 },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
