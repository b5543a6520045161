import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { callOutside, installOutsideWorld, outsideCalls } from '../../src/lab/outside-world.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_029: undisturbed, the intent is recorded before the call, the result after it, and there is one charge', async () => {
  const { fp, db, url, connect, see, sql } = await setupWorker()
  const client = await connect()
  await installOutsideWorld(client, 'fencepost')
  const steps = 'select name, done_at is not null as done, result from fencepost.step'
  let during: unknown
  const charge = task('charge', {
    input: anything,
    run: (_, job) =>
      job.step('pay', async ({ key }) => {
        during = await sql(steps)
        return { charged: await callOutside(url, 'fencepost', { jobId: job.id, by: 'A', key }) }
      }),
  })
  await fp.work([charge], { poll: '20ms' })

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toEqual({ charged: true })
  expect(during).toEqual([{ name: 'pay', done: false, result: null }])
  expect(await sql(steps)).toEqual([{ name: 'pay', done: true, result: { charged: true } }])
  expect(await outsideCalls(client, 'fencepost')).toMatchObject([{ jobId: job.id, charged: true }])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
