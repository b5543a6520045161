import { expect, it } from 'vitest'
import { Events } from '../../src/events.js'
import { task } from '../../src/index.js'
import { Database } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { Worker } from '../../src/worker/worker.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { Session } from '../harness/session.js'
import { aJob } from '../harness/setup.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

it('settles a job whose finish the database refuses for a while', async () => {
  const { fp, sql } = await setupWorker()
  // As a full disk would: it says so three times.
  await sql(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      if nextval('refusals') <= 3 then raise exception using errcode = '53100', message = 'no space left'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.finished for each row execute function refuse()`)
  const errors: string[] = []
  fp.on('error', ({ during }) => errors.push(during))
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], soon)

  const job = await fp.enqueue(work, null)

  expect(await job.result({ timeout: '20s' })).toBe('done')
  expect(errors.filter((during) => during === 'settling and claiming').length).toBeGreaterThan(0)
})

it('fails the one job whose result the database refuses, and settles those that came with it', async () => {
  const { fp, sql, see } = await setupWorker()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.result = '"bad"' then raise exception using errcode = '22P05', message = 'cannot be stored'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.finished for each row execute function refuse()`)
  const gate = door()
  const work = task('work', { input: anything, run: (n) => gate.pass().then(() => (n === 7 ? 'bad' : 'good')) })
  const jobs = await fp.enqueueMany(
    work,
    Array.from({ length: 20 }, (_, n) => ({ input: n })),
  )
  const all = new Promise<void>((resolve) => {
    let claimed = 0
    fp.on('claimed', () => ++claimed === 20 && resolve())
  })
  await fp.work([work], { ...soon, concurrency: 20 })
  await all
  gate.open()

  const endings = await Promise.allSettled(jobs.map((job) => job.result({ timeout: '20s' })))

  expect(endings.map(({ status }) => status)).toEqual(
    Array.from({ length: 20 }, (_, n) => (n === 7 ? 'rejected' : 'fulfilled')),
  )
  expect(await see(jobs[7]?.id as string)).toMatchObject({ outcome: 'failed', reason: 'not_retryable', failures: 1 })
})

it('does not keep a job leased whose end the database refuses for good', async () => {
  const { fp, sql, see, loseAll } = await setupWorker()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if current_setting('test.accept', true) is distinct from 'on' then
        raise exception using errcode = 'P0001', message = 'never'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.finished for each row execute function refuse()`)
  const work = task('work', { input: anything, run: () => 'done' })
  const worker = await fp.work([work], soon)
  const trouble = new Promise<string>((resolve) => {
    fp.on('error', ({ during }) => during.startsWith('settling job') && resolve(during))
  })

  const job = await fp.enqueue(work, null)

  expect(await trouble).toBe(`settling job ${job.id}`)
  await worker.stop() // which gives nothing back: it holds nothing any more
  expect(await see(job.id)).toMatchObject({ place: 'leased' })
  await loseAll()
  expect(await see(job.id)).toMatchObject({ place: 'ready', losses: 1 })
})

it('goes on after 200 failed reconnects, with what finished meanwhile, and pauses no longer than the cap', async () => {
  const { url, sql, see } = await setupWorker()
  const proxy = await FaultProxy.start(url)
  const pauses: number[] = []
  let failedEnough = () => {}
  const failures = new Promise<void>((resolve) => {
    failedEnough = resolve
  })
  const pause = async (ms: number) => {
    pauses.push(ms)
    if (pauses.length === 200) failedEnough()
    await new Promise((resolve) => setImmediate(resolve)) // the time passes at once
  }
  const db = new Database({ url: proxy.url, pause })
  const gate = door()
  let [begun, ran] = [0, 0]
  const work = task('work', {
    input: anything,
    async run() {
      begun++
      await gate.pass()
      ran++
    },
  })
  const worker = new Worker(db, new Events(), [work], { ...soon, concurrency: 5 }, 1_000_000)
  const direct = new Database({ url })
  const jobs = Array.from({ length: 20 }, () => aJob({ task: 'work' }))
  await enqueue(direct, jobs)
  await worker.begin()
  await expect.poll(() => begun).toBe(5)

  await proxy.stop()
  gate.open() // the five that run end while nobody can be told
  await failures
  expect(ran).toBe(5) // and no more were begun meanwhile
  await proxy.comeBack()

  await expect
    .poll(() => sql('select count(*)::int from fencepost.finished'), { timeout: 20_000 })
    .toEqual([{ count: 20 }])
  for (const { id } of jobs) expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, losses: 0 })
  expect(Math.max(...pauses)).toBeLessThanOrEqual(2_000)
  await worker.stop()
  await Promise.all([db.close(), direct.close()])
})

it('hears of a job at once although it polls once an hour', async () => {
  const { fp, client, sql } = await setupWorker()
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '1h' })
  await expect
    .poll(() => sql('select queue from fencepost.sleeper'), { timeout: 5_000 })
    .toEqual([{ queue: 'default' }])

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '10s' })).toBe('done')
})

it('looks again in time for what its claim has not looked at, though it polls once an hour', async () => {
  const { fp, client, sql } = await setupWorker()
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '1h' })
  await expect
    .poll(() => sql('select queue from fencepost.sleeper'), { timeout: 5_000 })
    .toEqual([{ queue: 'default' }])
  // The first claims find nothing where they look, and are told when to look everywhere: see pick.
  await sql(`create sequence fencepost.looks;
    alter function fencepost.pick rename to pick_everywhere;
    create function fencepost.pick(
      text, integer, text, text[], bigint, integer, integer, boolean, boolean,
      out rows tid[], out aged bigint, out unseen_ms integer
    ) language plpgsql as $$
    begin
      if nextval('fencepost.looks') <= 2 then
        rows := '{}';
        unseen_ms := 30;
      else
        select * into rows, aged, unseen_ms from fencepost.pick_everywhere($1, $2, $3, $4, $5, $6, $7, $8, $9);
      end if;
    end $$`)

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '10s' })).toBe('done')
})

it('finds a job whose notice was lost with the listening connection', async () => {
  const { fp, client, sql } = await setupWorker()
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '1h' })
  await expect
    .poll(() => sql('select queue from fencepost.sleeper'), { timeout: 5_000 })
    .toEqual([{ queue: 'default' }])
  await sql(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'fencepost listener' and datname = current_database()`)

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '10s' })).toBe('done')
})

it('asks again to be notified if that could not be said', async () => {
  const { fp, client, sql } = await setupWorker()
  await sql(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      if nextval('refusals') = 1 then raise exception 'not now'; end if; return new; end $$;
    create trigger refuse before insert on fencepost.sleeper for each row execute function refuse()`)
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { poll: '1h' })
  await expect
    .poll(() => sql('select queue from fencepost.sleeper'), { timeout: 5_000 })
    .toEqual([{ queue: 'default' }])

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '10s' })).toBe('done')
})

it('finds a job whose transaction had not seen that it sleeps, and so told nobody', async () => {
  const { fp, url, connect, sql } = await setupWorker()
  const session = await Session.open({ url, connect })
  await session.begin()
  const job = aJob({ task: 'work' })
  await enqueue(session, [job])
  const work = task('work', { input: anything, run: () => 'done' })
  const worker = await fp.work([work], { poll: '1h' })
  await expect
    .poll(() => sql('select queue from fencepost.sleeper'), { timeout: 5_000 })
    .toEqual([{ queue: 'default' }])
  const looked = worker.turns
  await expect.poll(() => worker.turns, { timeout: 5_000 }).toBeGreaterThan(looked + 2) // it does not rest as long as that transaction is open

  await session.commit()

  expect(await fp.result(job.id, { timeout: '10s' })).toBe('done')
})

it('goes on with its maintenance after a round that failed', async () => {
  const { fp, sql } = await setupWorker()
  await sql(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      if nextval('refusals') = 1 then raise exception 'not now'; end if; return old; end $$;
    create trigger refuse before delete on fencepost.delayed for each row execute function refuse()`)
  const work = task('work', { input: anything, run: () => 'done' })
  const failed = next(fp, 'error')
  await fp.work([work], soon)

  const job = await fp.enqueue(work, null, { delay: 1 })

  expect(await failed).toMatchObject({ during: 'maintenance' })
  expect(await job.result({ timeout: '10s' })).toBe('done')
})

it('works by polling alone', async () => {
  const { fp, client, sql } = await setupWorker()
  const work = task('work', { input: anything, run: () => 'done' })
  await fp.work([work], { ...soon, listen: false })

  const job = await (await client()).enqueue(work, null)

  expect(await job.result({ timeout: '10s' })).toBe('done')
  expect(await sql('select queue from fencepost.sleeper')).toEqual([])
})

it('tells what became of its jobs when it stops', async () => {
  const { fp, sql } = await setupWorker()
  const [quick, endless] = [door(), door()]
  const work = task('work', { input: anything, run: (n) => (n === 'quick' ? quick.pass() : endless.pass()) })
  const worker = await fp.work([work], { ...soon, concurrency: 2, grace: '500ms' })
  const both = Promise.all([quick.reached(), endless.reached()])
  await fp.enqueue(work, 'quick')
  await fp.enqueue(work, 'endless')
  await both
  const stopping = next(fp, 'worker_stopping')
  const stopped = next(fp, 'worker_stopped')

  const report = worker.stop()
  expect(await stopping).toMatchObject({ worker: worker.id, running: 2 })
  quick.open()

  expect(await report).toEqual({ finished: 1, released: 1 })
  expect(await stopped).toMatchObject({ finished: 1, released: 1 })
  expect(await sql('select id from fencepost.worker')).toEqual([])
})

it('is known to the database while it runs', async () => {
  const { fp, sql } = await setupWorker()
  const work = task('work', { input: anything, run: () => 'done' })
  const worker = await fp.work([work], { ...soon, concurrency: 7, queues: { mail: 2 } })

  expect(await sql('select id, pid, queues, tasks from fencepost.worker')).toEqual([
    { id: worker.id, pid: process.pid, queues: { default: 7, mail: 2 }, tasks: ['work'] },
  ])
})
