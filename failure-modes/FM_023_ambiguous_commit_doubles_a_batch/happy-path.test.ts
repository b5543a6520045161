import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { aJob, setup } from '../../test/harness/setup.js'

it('FM_023: undisturbed, a batch is stored once, in order, and each job runs once', async () => {
  const { db, see, sql } = await setup()
  const jobs = [aJob(), aJob(), aJob()]

  expect(await enqueue(db, jobs)).toEqual(new Map(jobs.map(({ id }) => [id, 'enqueued'])))
  const leases = await claim(db, { queue: 'default', limit: 10, worker: 'A' })
  expect(leases.map(({ jobId }) => jobId)).toEqual(jobs.map(({ id }) => id))
  const finishes = leases.map((lease) => ({ ...lease, resultText: '{}' }))
  expect((await finish(db, finishes)).map(({ answer }) => answer)).toEqual(['finished', 'finished', 'finished'])

  for (const { id } of jobs) {
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  }
  expect(await claim(db, { queue: 'default', limit: 10, worker: 'A' })).toEqual([])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
