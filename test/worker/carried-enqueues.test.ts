import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Enqueued, type Fencepost, fencepost, task } from '../../src/index.js'
import { untilBlockedBy, waitersSql } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { Session } from '../harness/session.js'
import { anything, setupWorker } from './setup.js'

type Bundle = Awaited<ReturnType<typeof setupWorker>>

/** A worker of the same process as the client, whose handlers wait at a door. */
async function setupOwnWorker({ concurrency = 100, paused = false, isolation = 'read committed' } = {}) {
  const bundle = await setupWorker()
  const name = new URL(bundle.url).pathname.slice(1)
  await bundle.sql(`alter database ${name} set default_transaction_isolation = '${isolation}'`)
  const proxy = await FaultProxy.start(bundle.url)
  const fp = await fencepost({ database: proxy.url, migrate: false, databaseRetry: '300ms' })
  onTestFinished(() => fp.close())
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  onTestFinished(open)
  const began: unknown[] = []
  const work = task('work', {
    input: anything,
    retry: { limit: 0 },
    async run(input) {
      began.push(input)
      await opened
      return input
    },
  })
  const errors: unknown[] = []
  fp.on('error', (error) => errors.push(error))
  if (paused) await fp.pause({ queue: 'default' })
  const worker = await fp.work([work], { poll: '1h', concurrency })
  // Two turns may be on their way at once: with the third it has heard that nothing waits. Before, it carries nothing.
  await vi.waitFor(() => expect(worker.turns).toBeGreaterThan(2), { timeout: 4_000, interval: 5 })
  return { ...bundle, proxy, fp, open, began, work, worker, errors }
}

/** Whether the transaction that stored the job has leased it. */
async function wasCarried({ sql }: Pick<Bundle, 'sql'>, id: string): Promise<boolean> {
  const rows = await sql<{ one: boolean }>(
    `select j.xmin::text = l.xmin::text as one from fencepost.job j
     join (select job_id, xmin from fencepost.leased) l on l.job_id = j.id where j.id = $1`,
    [id],
  )
  return rows[0]?.one === true
}

/** Enqueues until a worker carries it: it may have something else to do at first. */
async function untilCarried(bundle: Pick<Bundle, 'sql'>, enqueue: () => Promise<Enqueued<unknown>>) {
  for (let tries = 0; tries < 50; tries++) {
    const job = await enqueue()
    if (await wasCarried(bundle, job.id)) return job
  }
  throw new Error('no worker has carried any of 50 jobs')
}

/** Has jobs enqueued until a turn of the worker waits for the holder, while it stores or claims one of them. */
async function untilHeld(bundle: Pick<Bundle, 'sql'>, holder: Session, enqueue: () => Promise<Enqueued<unknown>>) {
  for (let tries = 0; tries < 50; tries++) {
    const call = enqueue()
    const isHeld = untilBlockedBy(bundle.sql, holder).then(() => true)
    isHeld.catch(() => {})
    if (await Promise.race([isHeld, call.then(() => false)])) return { call }
  }
  throw new Error('no worker has carried any of 50 jobs')
}

/** What turns of workers store waits until this session commits, in this place. */
async function holdTurns(bundle: Bundle, place: 'job' | 'leased' = 'job'): Promise<Session> {
  await bundle.sql(`create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on fencepost.${place} for each row
      when (current_query() ilike '%"fencepost".enqueue_claimed(%') execute function wait()`)
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(1)')
  return holder
}

it('a job is claimed in the transaction that stores it, and runs once', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, open, began, see, errors } = bundle

  const job = await untilCarried(bundle, () => fp.enqueue(work, 'carried'))
  open()

  expect(job.answer).toBe('enqueued')
  expect(await job.result({ timeout: '10s' })).toBe('carried')
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1 })
  expect(errors).toEqual([])
  expect(began.length).toBeGreaterThan(0)
})

it('jobs that are enqueued in the same moment are claimed in the transaction that stores them all', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, sql } = bundle
  let jobs: Enqueued<unknown>[] = []
  await untilCarried(bundle, async () => {
    jobs = await Promise.all([1, 2, 3].map((n) => fp.enqueue(work, n)))
    return jobs[2] as Enqueued<unknown>
  })
  expect(
    await sql('select count(distinct xmin::text)::int as n from fencepost.leased where job_id = any ($1)', [
      jobs.map(({ id }) => id),
    ]),
  ).toEqual([{ n: 1 }])
})

it('who enqueues is told before the handler begins', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, began } = bundle
  let [n, hadBegun] = [0, false]
  await untilCarried(bundle, async () => {
    const job = await fp.enqueue(work, ++n)
    hadBegun = began.includes(n)
    return job
  })
  expect(hadBegun).toBe(false)
})

it('its worker does not look once more for a job that it has stored', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, worker } = bundle
  const turnsOf: number[] = []
  // A few times: now and then there is another reason to look.
  for (let tries = 0; tries < 10 && !turnsOf.includes(1); tries++) {
    let turns = 0
    await untilCarried(bundle, async () => {
      const before = worker.turns
      const job = await fp.enqueue(work, null)
      await new Promise(setImmediate)
      await new Promise(setImmediate)
      turns = worker.turns - before
      return job
    })
    turnsOf.push(turns)
  }
  expect(turnsOf).toContain(1)
})

it('a reply that is lost after the commit: one job, one run, told as enqueued', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, proxy, open, began, sql, see } = bundle
  await untilCarried(bundle, () => fp.enqueue(work, 'first'))
  const lost = proxy.loseReplyWith('unheard of')

  const job = await fp.enqueue(work, 'unheard of')

  await lost
  expect(job.answer).toBe('enqueued')
  open()
  expect(await job.result({ timeout: '10s' })).toBe('unheard of')
  expect(began.filter((input) => input === 'unheard of')).toHaveLength(1)
  expect(await sql(`select 1 from fencepost.job where payload = '"unheard of"'`)).toHaveLength(1)
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, losses: 0 })
})

it('a request that never arrives: enqueued once, and run once', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, proxy, open, began, sql } = bundle
  await untilCarried(bundle, () => fp.enqueue(work, 'first'))
  const lost = proxy.loseRequest('never arrives')

  const job = await fp.enqueue(work, 'never arrives')

  await lost
  expect(job.answer).toBe('enqueued')
  open()
  expect(await job.result({ timeout: '10s' })).toBe('never arrives')
  expect(began.filter((input) => input === 'never arrives')).toHaveLength(1)
  expect(await sql(`select 1 from fencepost.job where payload = '"never arrives"'`)).toHaveLength(1)
})

it('what the database refuses is refused as ever, and the worker goes on', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, open, sql, client, errors } = bundle
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.payload = '"bad"' then raise exception using errcode = '23514', message = 'not that one'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.job for each row execute function refuse()`)
  await untilCarried(bundle, () => fp.enqueue(work, 'first'))
  const errorOf = (each: Fencepost) => each.enqueue(work, 'bad').catch((error: unknown) => error)

  const [carried, plain] = [await errorOf(fp), await errorOf(await client())]
  const { code, message, cause } = carried as Error & { code: string; cause: { code: string } }
  expect({ code, message, cause: cause.code }).toMatchObject({ code: 'FP_DATABASE_ERROR', cause: '23514' })
  expect({ code, message }).toEqual({ code: (plain as { code: string }).code, message: (plain as Error).message })

  const all = await Promise.allSettled(['good', 'bad', 'better'].map((input) => fp.enqueue(work, input)))
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  open()
  const job = await fp.enqueue(work, 'next')
  expect(await job.result({ timeout: '10s' })).toBe('next')
  expect(errors).toEqual([])
})

it('the database goes away while it is stored: told in the time of the caller, and run once when it is back', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, proxy, open, began, see, sql } = bundle
  await untilCarried(bundle, () => fp.enqueue(work, 'first'))
  const held = proxy.holdRequest('in between', 'after')
  const call = fp.enqueue(work, 'in between').catch((error: unknown) => error)
  await held
  const cutAtMs = performance.now()
  await proxy.stop()

  expect(await call).toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })
  expect(performance.now() - cutAtMs).toBeLessThan(5_000)
  await proxy.comeBack()
  open()

  const [{ id }] = (await sql(`select id from fencepost.job where payload = '"in between"'`)) as [{ id: string }]
  expect(await fp.result(id, { timeout: '20s' })).toBe('in between')
  expect(began.filter((input) => input === 'in between')).toHaveLength(1)
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, losses: 0 })
})

it('where the default is repeatable read, the repeat of a turn finds what its first try has leased meanwhile', async () => {
  const bundle = await setupOwnWorker({ isolation: 'repeatable read' })
  const { fp, work, proxy, open, sql, see } = bundle
  const holder = await holdTurns(bundle, 'leased')
  let n = 0
  const { call } = await untilHeld(bundle, holder, () => fp.enqueue(work, ++n))
  const told = call.catch(() => {}) // in the time that it has, nobody knows
  proxy.cutAll() // the server goes on with what it has begun
  await expect.poll(() => sql(waitersSql('advisory')), { timeout: 10_000 }).toHaveLength(2)

  await holder.commit()

  open()
  await told
  const [{ id }] = (await sql('select id from fencepost.job where payload = to_jsonb($1::int)', [n])) as [
    { id: string },
  ]
  expect(await fp.result(id, { timeout: '10s' })).toBe(n)
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, losses: 0 })
})

it('a worker that stops meanwhile: the caller is answered, and the job goes back at no charge', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, worker, open, see } = bundle
  const holder = await holdTurns(bundle)
  const { call } = await untilHeld(bundle, holder, () => fp.enqueue(work, null))

  open()
  const report = worker.stop()
  await holder.commit()

  const job = await call
  expect(job.answer).toBe('enqueued')
  await report
  const seen = await see(job.id)
  expect(seen).toMatchObject({ place: 'ready', failures: 0, losses: 0 })
  expect(seen?.releases).toBeGreaterThan(0) // more than one if a claim was on its way, and took it once more
  expect((await fp.enqueue(work, null)).answer).toBe('enqueued') // with nobody to carry it
})

it('a client that closes meanwhile answers who enqueues', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, open, see } = bundle
  const holder = await holdTurns(bundle)
  const { call } = await untilHeld(bundle, holder, () => fp.enqueue(work, null))

  open()
  const closed = fp.close()
  await holder.commit()

  const job = await call
  await closed
  expect(await see(job.id)).toMatchObject({ place: 'ready', releases: 1 })
})

it('a paused queue: the job is stored, is not claimed, and runs after the pause', async () => {
  const { fp, work, open, began, see } = await setupOwnWorker({ paused: true })
  open()
  const jobs = []
  for (let n = 0; n < 20; n++) jobs.push(await fp.enqueue(work, n))
  for (const { id } of jobs) expect(await see(id)).toMatchObject({ place: 'ready', tries: 0 })
  expect(began).toEqual([])

  await fp.resume({ queue: 'default' })

  expect(await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })))).toEqual(jobs.map((_, n) => n))
})

it('with no free handler a job is stored as ever, and runs when there is one', async () => {
  const bundle = await setupOwnWorker({ concurrency: 1 })
  const { fp, work, open, began, see } = bundle
  const first = await fp.enqueue(work, 1)
  await expect.poll(() => began).toEqual([1])

  const second = await fp.enqueue(work, 2)

  expect(await see(second.id)).toMatchObject({ place: 'ready', tries: 0 })
  open()
  expect(await Promise.all([first, second].map((job) => job.result({ timeout: '10s' })))).toEqual([1, 2])
})

it('an id of the caller’s, and a transaction of the caller’s, are nobody else’s', async () => {
  const bundle = await setupOwnWorker()
  const { fp, work, sql, open } = bundle
  await untilCarried(bundle, () => fp.enqueue(work, 'first'))
  const jobs: Enqueued<unknown>[] = []
  for (let n = 0; n < 3; n++) {
    jobs.push(await fp.enqueue(work, n, { id: randomUUID() }))
    jobs.push(await fp.transaction((tx) => fp.enqueue(work, n, { tx })))
  }
  const leased = () => sql('select 1 from fencepost.leased where job_id = any ($1)', [jobs.map(({ id }) => id)])
  await expect.poll(leased, { timeout: 10_000 }).toHaveLength(jobs.length)

  for (const { id } of jobs) expect(await wasCarried(bundle, id)).toBe(false)
  open()
})

it('two workers of one process: each job runs once', async () => {
  const bundle = await setupOwnWorker({ concurrency: 3 })
  const { fp, work, open, began } = bundle
  await fp.work([work], { poll: '1h', concurrency: 3 })
  open()

  const jobs = []
  for (let n = 0; n < 30; n++) jobs.push(await fp.enqueue(work, n))
  await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })))

  expect(began.toSorted((a, b) => Number(a) - Number(b))).toEqual(jobs.map((_, n) => n))
})
