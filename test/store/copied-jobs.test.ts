import { expect, it, onTestFinished } from 'vitest'
import { copiedLeast } from '../../src/store/copied-jobs.js'
import { Database } from '../../src/store/database.js'
import { enqueue, type NewJob } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { aJob, setup } from '../harness/setup.js'

/** As many as are copied. */
function jobsLike(job: Partial<NewJob> = {}, payload: (n: number) => string = String): NewJob[] {
  return Array.from({ length: copiedLeast }, (_, n) => aJob({ ...job, payloadText: payload(n) }))
}

/** What every transaction that puts something into `ready` has set, and how many rows each of its statements put there. */
async function setupWatched() {
  const bundle = await setup()
  await bundle.sql('create table seen (jobs bigint, commits text, isolation text, idle text, alive text)')
  await bundle.sql(`create function see() returns trigger language plpgsql as $$ begin
    insert into seen select count(*), current_setting('synchronous_commit'), current_setting('transaction_isolation'),
      current_setting('idle_in_transaction_session_timeout'), current_setting('tcp_keepalives_idle') from put;
    return null; end $$`)
  await bundle.sql(`create trigger see after insert on fencepost.ready referencing new table as put
    for each statement execute function see()`)
  return { ...bundle, seen: () => bundle.sql('select * from seen') }
}

const stored = `
  select j.id, j.task, j.queue, j.payload, j.priority, j.failures_max, j.losses_max, j.lease_ms,
         r.tries + r.releases + r.failures + r.losses as counted, r.gates, r.held
  from fencepost.ready r
  join fencepost.job j on j.id = r.job_id
    and (j.seq, j.queue, j.task, j.priority, j.failures_max, j.losses_max)
      = (r.seq, r.queue, r.task, r.priority, r.failures_max, r.losses_max)
  order by r.seq`

function asStored({ id, task, queue, payloadText, priority, failuresMax, lossesMax, leaseMs }: NewJob) {
  const limits = { priority, failures_max: failuresMax, losses_max: lossesMax, lease_ms: leaseMs }
  return { id, task, queue, payload: JSON.parse(payloadText), ...limits, counted: 0, gates: null, held: null }
}

it('stores a thousand jobs in the order given, each with its own payload', async () => {
  const { db, sql } = await setup()
  const names = { queue: `fencepost.ready'); \\N "ü`, task: `a\\tb '$1` }
  const texts = ['a \t tab', 'a\nline', '\\', '\\.', '\\N', `it's "quoted"`, 'ü €', 'fencepost.job', '', '\u2028']
  const jobs = jobsLike({ ...names, priority: -7, failuresMax: 1, lossesMax: 4, leaseMs: 1_234 }, (n) =>
    JSON.stringify({ n, text: texts[n % texts.length] }),
  )

  const answers = await enqueue(db, jobs, undefined, true)

  expect([...answers]).toEqual(jobs.map(({ id }) => [id, 'enqueued']))
  expect(await sql(stored)).toEqual(jobs.map(asStored))
  expect(await sql('select count(*)::int as n from fencepost.job')).toEqual([{ n: jobs.length }])
})

it('gives them the places that it was given, also if others came between', async () => {
  const { db, sql } = await setup()
  await sql('alter sequence fencepost.job_seq increment by 3')
  const jobs = jobsLike()

  await enqueue(db, jobs, undefined, true)

  expect(await sql(stored)).toEqual(jobs.map(asStored))
  const [next] = await sql<{ at: number; last: number }>(
    `select nextval('fencepost.job_seq') as at, max(seq) as last from fencepost.ready`,
  )
  expect(next?.at).toBe((next?.last as number) + 3)
})

it('takes their time from the clock of the database', async () => {
  const { db, sql, advance } = await setup()
  await advance(3_600_000)

  await enqueue(db, jobsLike(), undefined, true)

  expect(
    await sql(`select count(*)::int as n from fencepost.job
               where created_at between fencepost.clock() - interval '1 min' and fencepost.clock()`),
  ).toEqual([{ n: copiedLeast }])
})

it('can be claimed and done as all others', async () => {
  const { db } = await setup()
  const jobs = jobsLike()
  await enqueue(db, jobs, undefined, true)

  const leases = await claim(db, { queue: 'default', limit: 3, worker: 'w1' })

  expect(leases.map(({ jobId, payload }) => [jobId, payload])).toEqual(
    jobs.slice(0, 3).map(({ id, payloadText }) => [id, JSON.parse(payloadText)]),
  )
})

it('is repeated after a lost reply, and each job is stored once', async () => {
  const { url, sql } = await setup()
  const proxy = await FaultProxy.start(url)
  const lossy = new Database({ url: proxy.url })
  onTestFinished(() => lossy.close())
  for (const [lose, answer] of [
    [() => proxy.loseReplyTo('from stdin'), 'existing'],
    [() => proxy.loseRequest('from stdin'), 'enqueued'],
    [() => proxy.loseReplyTo('begin_copy'), 'enqueued'],
    [() => proxy.loseRequest('tcp_keepalives_idle'), 'enqueued'],
  ] as const) {
    await sql('truncate fencepost.job, fencepost.ready')
    const jobs = jobsLike()
    const lost = lose()
    expect(new Set((await enqueue(lossy, jobs, undefined, true)).values())).toEqual(new Set([answer]))
    await lost
    expect(await sql(stored)).toEqual(jobs.map(asStored))
  }
})

it('does not wait for ever for a first try that hangs in the server', async () => {
  const { url, connect } = await setup()
  const proxy = await FaultProxy.start(url)
  const lossy = new Database({ url: proxy.url, retryMs: 300 })
  onTestFinished(() => lossy.close())
  const jobs = jobsLike()
  const hanging = await connect()
  await hanging.query('begin')
  await hanging.query(
    `insert into fencepost.job (id, seq, lease_ms, priority, failures_max, losses_max, queue, task, payload)
     values ($1, 0, 1, 0, 0, 0, 'default', 'test', '1')`,
    [jobs[7]?.id],
  )
  const lost = proxy.loseRequest('from stdin')

  await expect(enqueue(lossy, jobs, undefined, true)).rejects.toMatchObject({
    code: 'FP_COMMIT_UNKNOWN',
    cause: { code: '55P03' },
  })
  await lost
})

it('is not for jobs with a delay, of several tasks, or under ids that may be there', async () => {
  const { db, sql } = await setup()
  const counts = async () =>
    (
      await sql(`select (select count(*)::int from fencepost.delayed) as delayed,
                       (select count(*)::int from fencepost.ready where task = 'test') as ready,
                       (select count(*)::int from fencepost.ready where task = 'another') as others`)
    )[0]
  const own = jobsLike()

  await enqueue(db, jobsLike({ delayMs: 60_000 }), undefined, true)
  await enqueue(db, [...jobsLike(), aJob({ task: 'another' })], undefined, true)
  await enqueue(db, own)
  const again = await enqueue(db, own)

  expect(await counts()).toEqual({ delayed: copiedLeast, ready: 2 * copiedLeast, others: 1 })
  expect(new Set(again.values())).toEqual(new Set(['existing']))
})

it('stores nothing if one of them is refused, and goes on with the next', async () => {
  const { db, sql } = await setup()
  const [first, ...others] = jobsLike() as [NewJob, ...NewJob[]]
  await enqueue(db, [first])

  await expect(enqueue(db, [...others, first], undefined, true)).rejects.toMatchObject({ cause: { code: '23505' } })
  const unstorable = jobsLike({}, (n) => (n === 500 ? '"\\u0000"' : '1'))
  await expect(enqueue(db, unstorable, undefined, true)).rejects.toMatchObject({ code: 'FP_INPUT_NOT_JSON' })
  await sql(`alter table fencepost.ready add check (task <> 'unwanted')`)
  await expect(enqueue(db, jobsLike({ task: 'unwanted' }), undefined, true)).rejects.toMatchObject({
    cause: { code: '23514' },
  })

  expect(await sql(stored)).toEqual([asStored(first)])
  expect(await sql('select id from fencepost.job')).toEqual([{ id: first.id }])
  const next = jobsLike({ queue: 'another' })
  await enqueue(db, next, undefined, true)
  expect(await sql('select count(*)::int as n from fencepost.job')).toEqual([{ n: 1 + next.length }])
})

it('copies, and commits durably where the server does not, in a transaction that cannot be left open', async () => {
  const { db, sql, url, seen } = await setupWatched()
  const [{ name }] = (await sql<{ name: string }>('select current_database() as name')) as [{ name: string }]
  await sql(`alter database ${name} set synchronous_commit = off`)
  await sql(`alter database ${name} set default_transaction_isolation = 'repeatable read'`)
  await sql(`alter database ${name} set idle_in_transaction_session_timeout = 0`)
  const fresh = db.sibling({ url })
  onTestFinished(() => fresh.close())

  await enqueue(fresh, jobsLike(), undefined, true)
  fresh.sayReadCommitted()
  await enqueue(fresh, jobsLike(), undefined, true)

  const settings = { jobs: copiedLeast, commits: 'on', idle: '1min', alive: '10' }
  expect(await seen()).toEqual([
    { ...settings, isolation: 'repeatable read' },
    { ...settings, isolation: 'read committed' },
  ])
})

it('is part of the caller’s transaction, if there is one', async () => {
  const { db, sql, connect } = await setup()
  const caller = await connect()
  await caller.query('begin')

  await enqueue(db, jobsLike(), caller, true)

  expect(await sql('select 1 from fencepost.job limit 1')).toEqual([])
  await caller.query('rollback')
  expect(await sql('select 1 from fencepost.job limit 1')).toEqual([])
})
