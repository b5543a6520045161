import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { anything, next, setupWorker } from '../../test/worker/setup.js'

it('FM_028: what was refused is told and said again, and the job ends under the same lease', async () => {
  const { prevent } = await bundleUnderTest('FM_028')

  const played = await prevent()

  expect(noteOf(played, 'A', 'says that it has finished')).toBe('no space left: told, said again: finished')
  expect(noteOf(played, 'A', 'its heart beats')).toBe('holds nothing')
  expect(noteOf(played, 'B', 'looks for leases that ran out')).toBe('nothing to take back')
  expect(played.violations).toEqual([])
})

/** A database that refuses outcomes with this error, and a task of which we know how often it ran. */
async function setupRefusal(condition: string, errcode: string) {
  const bundle = await setupWorker()
  await bundle.sql(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      if ${condition} then raise exception using errcode = '${errcode}', message = 'refused'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.finished for each row execute function refuse()`)
  const troubles: string[] = []
  bundle.fp.on('error', ({ during }) => troubles.push(during))
  let runs = 0
  const charge = task('charge', { input: anything, lease: '2s', run: () => `run ${++runs}` })
  return { ...bundle, troubles, charge, runs: () => runs }
}

it('FM_028: a real worker says it until it is heard, tells each refusal, and runs the handler once', async () => {
  const { fp, db, charge, troubles, runs, see } = await setupRefusal(`nextval('refusals') <= 3`, '53100')
  await fp.work([charge], { poll: '20ms' })

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '20s' })).toBe('run 1')
  expect(runs()).toBe(1)
  expect(troubles).toEqual(Array.from({ length: 3 }, () => 'settling and claiming'))
  expect(await see(job.id)).toMatchObject({ tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_028: what will never be heard is not kept alive: the lease runs out under a living worker', async () => {
  // Not to be said again: it is refused as bad data, and so is the failure that is said instead.
  const { fp, charge, troubles, see } = await setupRefusal('new.lease_id = 1', 'P0001')
  const lost = next(fp, 'lost')
  await fp.work([charge], { poll: '20ms' })

  const job = await fp.enqueue(charge, null)

  expect(await lost).toMatchObject({ jobId: job.id, leaseId: 1 })
  expect(troubles).toEqual([`settling job ${job.id}`])
  expect(await job.result({ timeout: '20s' })).toBe('run 2')
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 0, losses: 1 })
})
