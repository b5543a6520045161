import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_021: undisturbed, ten charges of one card run one after the other, as their handlers count it', async () => {
  const { fp, db, see, sql } = await setupWorker()
  let running = 0
  let most = 0
  const order: unknown[] = []
  const charge = task('charge', {
    input: anything,
    gate: { key: 'card', limit: 1 },
    async run(input) {
      most = Math.max(most, ++running)
      order.push(input)
      await new Promise(setImmediate)
      running--
      return input
    },
  })
  const jobs = []
  for (let n = 0; n < 10; n++) jobs.push(await fp.enqueue(charge, n))

  await fp.work([charge], { poll: '20ms', concurrency: 5 })

  for (const [n, job] of jobs.entries()) expect(await job.result({ timeout: '20s' })).toBe(n)
  expect(most).toBe(1)
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(await see(jobs[9]?.id as string)).toMatchObject({ outcome: 'succeeded', tries: 1, releases: 0 })
  expect(await sql('select * from fencepost.gate')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
