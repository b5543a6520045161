import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { NonRetryable, task } from '../../src/index.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'

it('FM_036: the batch is taken apart: the culprit fails, the others are settled, and nothing is held', async () => {
  const { prevent } = await bundleUnderTest('FM_036')

  const played = await prevent()

  expect(noteOf(played, 'A', 'says that all five have finished')).toBe('4 finished, 1 failed')
  expect(noteOf(played, 'A', 'heart beats; says it again')).toBe('holds nothing')
  expect(noteOf(played, 'B', 'looks what has ended')).toBe('5 ended, nothing to take back')
  expect(played.violations).toEqual([])
})

const size = 20

/** A worker whose handlers all end at once, so that one turn carries what they came to; some of it is refused. */
async function setupBatch(refused: string, run: (n: number) => unknown) {
  const bundle = await setupWorker()
  const { fp, sql } = bundle
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if ${refused} then raise exception using errcode = '22P05', message = 'cannot be stored'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.finished for each row execute function refuse();
    create trigger refuse before insert on fencepost.attempt for each row execute function refuse()`)
  const gate = door()
  const charge = task('charge', {
    input: anything,
    retry: { limit: 0 },
    run: (n) => gate.pass().then(() => run(n as number)),
  })
  const all = new Promise<void>((resolve) => {
    let claimed = 0
    fp.on('claimed', () => ++claimed === size && resolve())
  })
  const jobs = await fp.enqueueMany(
    charge,
    Array.from({ length: size }, (_, n) => ({ input: n })),
  )
  await fp.work([charge], { poll: '20ms', concurrency: size })
  await all
  gate.open()
  const endings = await Promise.allSettled(jobs.map((job) => job.result({ timeout: '20s' })))
  return {
    ...bundle,
    jobs,
    /** Which of them have not succeeded. */
    failed: endings.flatMap(({ status }, n) => (status === 'rejected' ? [n] : [])),
  }
}

it.each([[[0]], [[7]], [[19]], [[3, 4, 18]]])('FM_036: a real worker finds the culprits %j among 20', async (bad) => {
  const { db, jobs, failed, see } = await setupBatch(`to_jsonb(new) ->> 'result' = 'bad'`, (n) =>
    bad.includes(n) ? 'bad' : 'good',
  )

  expect(failed).toEqual(bad)
  for (const n of bad) {
    expect(await see(jobs[n]?.id as string)).toMatchObject({ outcome: 'failed', reason: 'not_retryable', failures: 1 })
  }
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_036: an error that cannot be stored is replaced by one that can', async () => {
  const { jobs, failed, see, sql } = await setupBatch(`to_jsonb(new) -> 'error' ->> 'message' = 'bad'`, (n) => {
    if (n === 7) throw new NonRetryable('bad')
    return 'good'
  })

  expect(failed).toEqual([7])
  expect(await see(jobs[7]?.id as string)).toMatchObject({ outcome: 'failed', failures: 1 })
  expect(await sql(`select error ->> 'message' as said from fencepost.attempt`)).toEqual([
    { said: 'the error of the handler cannot be stored' },
  ])
})
