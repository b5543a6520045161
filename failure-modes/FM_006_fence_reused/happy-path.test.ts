import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { enqueue } from '../../src/store/enqueue.js'
import { finish } from '../../src/store/settle.js'
import { aJob, setup } from '../../test/harness/setup.js'

it('FM_006: undisturbed, a job that was deleted after its end and sent again is a new job', async () => {
  const { db, take, see, sql } = await setup()
  const job = aJob()
  await enqueue(db, [job])
  const first = await take()
  await finish(db, [{ ...first, resultText: '1' }])
  await sql('with f as (delete from fencepost.finished) delete from fencepost.job')

  expect(await enqueue(db, [job])).toEqual(new Map([[job.id, 'enqueued']]))
  const second = await take()
  expect(second).toMatchObject({ jobId: first.jobId, tries: 1 })
  expect(second.leaseId).toBeGreaterThan(first.leaseId)
  expect(await finish(db, [{ ...second, resultText: '2' }])).toMatchObject([{ answer: 'finished', duplicate: false }])

  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
