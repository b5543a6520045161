import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { NonRetryable, task } from '../../src/index.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'
import { definitionOf } from '../../src/lab/run-steps.js'

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

/** Where what the database refuses may turn up in a run. */
const badRuns: Record<string, string> = {
  'in the vars that it begins with': `
vars: { x: bad }
tasks: [{ name: a, action: core.noop }]`,
  'in what it publishes': `
vars: { x: null }
tasks: [{ name: a, action: charge, next: [{ publish: { x: bad } }] }]`,
  'in its output': `
tasks: [{ name: a, action: charge }]
output: { x: bad }`,
}
it.each(Object.keys(badRuns))(
  'FM_036: a run with something %s that cannot be stored fails, and those beside it go on',
  async (where) => {
    const { fp, db, sql } = await setupWorker()
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if 'bad' in (new.vars ->> 'x', new.output ->> 'x') then
        raise exception using errcode = '22P05', message = 'cannot be stored';
      end if;
      return new; end $$;
    create trigger refuse before update on fencepost.run for each row execute function refuse()`)
    const charge = task('charge', { input: anything, run: () => 'charged' })
    const start = (text: string) =>
      fp.workflows.start({ definition: definitionOf(text), tasks: [charge], workflows: [] }, {})
    const good = `
name: good
tasks: [{ name: a, action: charge, next: [{ do: b }] }, { name: b, action: charge }]`
    const before = [await start(good), await start(good)]
    const bad = await start(`name: bad${badRuns[where]}`)
    const after = [await start(good), await start(good)]
    // All of them were called before anybody looks: they are advanced together.
    await fp.work([charge], { poll: '20ms' })

    for (const run of [...before, ...after]) await run.result({ timeout: '8s' })
    await expect(bad.result({ timeout: '8s' })).rejects.toThrow(/cannot be stored/)

    expect((await fp.workflows.run(bad.id)).error).toMatchObject({ code: 'FP_RUN_NOT_STORABLE' })
    expect(await sql('select distinct advance_tries from fencepost.run')).toEqual([{ advance_tries: 0 }])
    expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
  },
)
