import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { extend, start } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_047: the fence names the job and a random number besides: the old worker’s word fits nothing', async () => {
  const { prevent } = await bundleUnderTest('FM_047')

  const played = await prevent()

  expect(noteOf(played, 'B', 'leases the urgent one')).toBe('lease 1')
  expect(noteOf(played, 'A', 'commits the first one’s effect')).toBe('stale, rolled back')
  expect(noteOf(played, 'B', 'commits the urgent one’s effect')).toBe('finished')
  expect(played.violations).toEqual([])
})

it.each([1, 2])('FM_047: without layer %i the other one alone keeps the old worker out', async (layer) => {
  const { preventWithoutLayer } = await bundleUnderTest('FM_047')

  const played = await preventWithoutLayer(layer)

  expect(noteOf(played, 'A', 'commits the first one’s effect')).toBe('stale, rolled back')
  expect(played.violations).toEqual([])
})

it('FM_047: also of the same job: no word about the lost lease counts for the one that has its number', async () => {
  const { db, sql, add, take, see } = await setup()
  const id = await add()
  const old = await take({ worker: 'A' })
  await sql(`do $$ begin -- the standby has not heard of the claim
    insert into fencepost.ready
      (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task)
    select job_id, seq, tries - 1, releases, priority, failures, losses, failures_max, losses_max, queue, task
    from fencepost.leased;
    delete from fencepost.leased;
    perform setval('fencepost.lease_seq', ${old.leaseId}, false);
  end $$`)
  const lease = await take({ worker: 'B' })
  expect([lease.jobId, lease.leaseId]).toEqual([old.jobId, old.leaseId])

  expect(await extend(db, [old])).toMatchObject([{ answer: 'gone' }])
  expect(await start(db, [old])).toMatchObject([{ answer: 'stale' }])
  expect(await finish(db, [{ ...old, resultText: '"A"' }])).toMatchObject([{ answer: 'stale' }])
  expect(await fail(db, [{ ...old, errorText: '{}', delayMs: 0, final: true }])).toMatchObject([{ answer: 'stale' }])
  expect(await release(db, [old], 'shutdown')).toMatchObject([{ answer: 'stale' }])
  expect(await see(id)).toMatchObject({ place: 'leased', tries: 1, failures: 0, releases: 0 })

  expect(await finish(db, [{ ...lease, resultText: '"B"' }])).toMatchObject([{ answer: 'finished' }])
  // Two have reported success, and that is said.
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 1, findings: [{ invariant: 'INV_001' }] })
})
