import { describe, expect, it, onTestFinished } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import { copiedLeast } from '../../src/store/copied-jobs.js'
import { Database } from '../../src/store/database.js'
import { announceTasks, enqueue, enqueueAfter, type NewJob } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { putActions } from '../../src/store/runs.js'
import { finish } from '../../src/store/settle.js'
import { takeTurnStoring } from '../../src/store/turn.js'
import { untilBlocked } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { aboveReadCommitted, isolations, Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

const conflict = { code: 'FP_ID_CONFLICT' }
const serialization = { cause: { code: '40001' } }

it('stores a job in ready, with all its counters at zero', async () => {
  const { db, see, placesOf, sql } = await setup()
  const job = aJob({ payloadText: '{"a":1}', priority: 7, queue: 'mail' })

  expect(await enqueue(db, [job])).toEqual(new Map([[job.id, 'enqueued']]))

  expect(await placesOf(job.id)).toEqual(['ready'])
  expect(await see(job.id)).toMatchObject({
    place: 'ready',
    outcome: null,
    tries: 0,
    failures: 0,
    losses: 0,
    releases: 0,
  })
  expect(
    await sql('select payload, priority, queue, task, failures_max, losses_max, lease_ms from fencepost.job'),
  ).toEqual([
    { payload: { a: 1 }, priority: 7, queue: 'mail', task: 'test', failures_max: 3, losses_max: 2, lease_ms: 30_000 },
  ])
})

describe('refuses what can be no job, and stores nothing of the call:', () => {
  const impossible: Partial<NewJob>[] = [
    { task: '' },
    { queue: '' },
    { failuresMax: -1 },
    { lossesMax: -1 },
    { leaseMs: 0 },
  ]
  const refused = {
    code: 'FP_DATABASE_ERROR',
    message: expect.stringContaining('a lease of 1 ms'),
    cause: { code: '23514' },
  }

  it.each([
    ['asked alone', 1, false],
    ['with others', 2, false],
    ['under a fresh id', 2, true],
    ['in bulk', copiedLeast, true],
  ])('%s', async (_, count, fresh) => {
    const { db, sql } = await setup()

    for (const odd of impossible) {
      const jobs = Array.from({ length: count }, () => aJob(odd))
      await expect(enqueue(db, jobs, undefined, fresh)).rejects.toMatchObject(refused)
    }
    expect(await sql('select id from fencepost.job union all select job_id from fencepost.ready')).toEqual([])
  })

  it('with a claim', async () => {
    const { db, sql } = await setup()
    const one = { queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1, suspect: false }
    for (const odd of impossible) {
      const turn = { worker: 'w1', turn: impossible.indexOf(odd), tasks: ['test'], claim: one }
      await expect(takeTurnStoring(db, turn, [aJob(odd)])).rejects.toMatchObject(refused)
    }
    expect(await sql('select id from fencepost.job union all select job_id from fencepost.leased')).toEqual([])
  })
})

it('stores a job with a delay in delayed, due by the database’s clock', async () => {
  const { db, advance, placesOf, sql } = await setup()
  await advance(3_600_000)
  const job = aJob({ delayMs: 5_000 })

  await enqueue(db, [job])

  expect(await placesOf(job.id)).toEqual(['delayed'])
  expect(
    await sql(`select d.due_at = j.due_at as same, d.due_at between fencepost.clock() and fencepost.clock() + interval '5 s' as due
               from fencepost.delayed d join fencepost.job j on j.id = d.job_id`),
  ).toEqual([{ same: true, due: true }])
})

it.each([
  { task: 'another' },
  { queue: 'another' },
  { priority: 7 },
  { delayMs: 60_000 },
  { failuresMax: 9 },
  { lossesMax: 9 },
  { leaseMs: 12_345 },
  { gatesText: '[{"key": "gate:a", "limit": 1, "onFull": "wait"}]' },
])('keeps apart two jobs of a batch that differ in nothing but %o', async (differs) => {
  const { db, sql } = await setup()
  const jobs = [aJob(), aJob(differs)]
  await enqueue(db, jobs)

  const stored = await sql(
    `select task, queue, priority, due_at is not null as delayed, failures_max, losses_max, lease_ms, gates
     from fencepost.job order by seq`,
  )
  expect(stored).toEqual(
    jobs.map((job) => ({
      task: job.task,
      queue: job.queue,
      priority: job.priority,
      delayed: job.delayMs > 0,
      failures_max: job.failuresMax,
      losses_max: job.lossesMax,
      lease_ms: job.leaseMs,
      gates: job.gatesText === null ? null : JSON.parse(job.gatesText),
    })),
  )
})

it('keeps the order given within a batch, whatever the ids', async () => {
  const { db } = await setup()
  const jobs = Array.from({ length: 20 }, () => aJob()).sort((a, b) => (a.id < b.id ? 1 : -1))

  await enqueue(db, jobs)

  const leases = await claim(db, { queue: 'default', limit: 20, worker: 'w1' })
  expect(leases.map(({ jobId }) => jobId)).toEqual(jobs.map(({ id }) => id))
})

describe('under fresh ids', () => {
  it('stores jobs that are alike in the order given, each with its own payload', async () => {
    const { db, sql } = await setup()
    const payloads = ['{"a": [1, "ü"]}', '"x \\"\\\\ \\n {}, $1"', 'null', '[]', '1.50']
    const jobs = payloads.map((payloadText) => aJob({ payloadText })).reverse()

    const answers = await enqueue(db, jobs, undefined, true)

    expect([...answers]).toEqual(jobs.map(({ id }) => [id, 'enqueued']))
    expect(
      await sql(`select j.id, j.task, j.payload, j.priority, j.failures_max, j.losses_max, j.lease_ms, r.tries, r.failures
                 from fencepost.ready r join fencepost.job j on j.id = r.job_id and j.seq = r.seq
                   and (j.queue, j.task, j.priority) = (r.queue, r.task, r.priority) order by r.seq`),
    ).toEqual(
      jobs.map(({ id, task, payloadText, priority, failuresMax, lossesMax, leaseMs }) => ({
        id,
        task,
        payload: JSON.parse(payloadText),
        priority,
        failures_max: failuresMax,
        losses_max: lossesMax,
        lease_ms: leaseMs,
        tries: 0,
        failures: 0,
      })),
    )
  })

  it('stores nothing if one of them is there', async () => {
    const { db, sql } = await setup()
    const old = aJob()
    await enqueue(db, [old])

    await expect(enqueue(db, [aJob(), old], undefined, true)).rejects.toMatchObject({ cause: { code: '23505' } })

    expect(await sql('select id from fencepost.job')).toEqual([{ id: old.id }])
    expect(await sql('select job_id from fencepost.ready')).toEqual([{ job_id: old.id }])
  })

  it('stores jobs with the same delay in delayed', async () => {
    const { db, placesOf } = await setup()
    const jobs = [aJob({ delayMs: 60_000 }), aJob({ delayMs: 60_000 })]
    await enqueue(db, jobs, undefined, true)

    for (const { id } of jobs) expect(await placesOf(id)).toEqual(['delayed'])
  })
})

it('answers existing to the same job again and touches nothing, wherever the job is now', async () => {
  const { db, take, placesOf, sql } = await setup()
  const [ready, delayed, leased, finished] = [
    aJob({ priority: 9 }),
    aJob({ delayMs: 60_000 }),
    aJob({ priority: 2 }),
    aJob(),
  ]
  await enqueue(db, [ready, delayed, leased, finished])
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await take()
  const before = await sql('select * from fencepost.job order by id')

  const answers = await enqueue(db, [ready, delayed, leased, finished])

  expect([...answers.values()]).toEqual(['existing', 'existing', 'existing', 'existing'])
  expect(await placesOf(ready.id)).toEqual(['ready'])
  expect(await placesOf(delayed.id)).toEqual(['delayed'])
  expect(await placesOf(leased.id)).toEqual(['leased'])
  expect(await placesOf(finished.id)).toEqual(['finished'])
  expect(await sql('select * from fencepost.job order by id')).toEqual(before)
})

it('answers existing to the same job again, asked alone, and touches nothing', async () => {
  const { db, take, placesOf, sql } = await setup()
  const [ready, leased, finished] = [aJob({ priority: 9 }), aJob({ priority: 2 }), aJob()]
  await enqueue(db, [ready, leased, finished])
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await take()
  const before = await sql('select * from fencepost.job order by id')

  for (const job of [ready, leased, finished]) expect(await enqueue(db, [job])).toEqual(new Map([[job.id, 'existing']]))

  expect(await placesOf(ready.id)).toEqual(['ready'])
  expect(await placesOf(leased.id)).toEqual(['leased'])
  expect(await placesOf(finished.id)).toEqual(['finished'])
  expect(await sql('select * from fencepost.job order by id')).toEqual(before)
})

it('answers each member of a batch for itself', async () => {
  const { db, placesOf } = await setup()
  const [old, young] = [aJob(), aJob()]
  await enqueue(db, [old])

  expect(await enqueue(db, [young, old])).toEqual(
    new Map([
      [young.id, 'enqueued'],
      [old.id, 'existing'],
    ]),
  )
  expect(await placesOf(young.id)).toEqual(['ready'])
})

it('takes payloads that differ only in the order of their keys for the same', async () => {
  const { db } = await setup()
  const job = aJob({ payloadText: '{"a":1,"b":[1.0]}' })
  await enqueue(db, [job])

  expect(await enqueue(db, [{ ...job, payloadText: '{"b":[1], "a":1}' }])).toEqual(new Map([[job.id, 'existing']]))
})

it('refuses the id of a different job and stores nothing of the batch', async () => {
  const { db, sql } = await setup()
  const [old, young] = [aJob(), aJob()]
  await enqueue(db, [old])

  await expect(enqueue(db, [young, { ...old, payloadText: '{"other":true}' }])).rejects.toMatchObject(conflict)
  await expect(enqueue(db, [young, { ...old, task: 'other' }])).rejects.toMatchObject(conflict)

  expect(await sql('select id, task, payload from fencepost.job')).toEqual([{ id: old.id, task: 'test', payload: {} }])
  expect(await sql('select job_id from fencepost.ready')).toEqual([{ job_id: old.id }])
})

it('refuses the id of a different job, asked alone', async () => {
  const { db, sql } = await setup()
  const old = aJob()
  await enqueue(db, [old])

  await expect(enqueue(db, [{ ...old, payloadText: '{"other":true}' }])).rejects.toMatchObject(conflict)
  await expect(enqueue(db, [{ ...old, task: 'other' }])).rejects.toMatchObject(conflict)

  expect(await sql('select id, task, payload from fencepost.job')).toEqual([{ id: old.id, task: 'test', payload: {} }])
  expect(await sql('select job_id from fencepost.ready')).toEqual([{ job_id: old.id }])
})

it('takes the same job twice in one batch as one', async () => {
  const { db, placesOf } = await setup()
  const job = aJob()

  expect(await enqueue(db, [job, job, aJob(), job])).toHaveProperty('size', 2)

  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('refuses one id for two different jobs in one batch', async () => {
  const { db, sql } = await setup()
  const job = aJob()

  await expect(enqueue(db, [job, { ...job, payloadText: '1' }])).rejects.toMatchObject(conflict)

  expect(await sql('select 1 from fencepost.job')).toEqual([])
  expect(await sql('select 1 from fencepost.ready')).toEqual([])
})

it('does nothing for an empty batch', async () => {
  const { db, sql } = await setup()

  expect(await enqueue(db, [])).toEqual(new Map())
  expect(await sql('select 1 from fencepost.job')).toEqual([])
})

describe.each(isolations)('in a caller’s transaction at %s', (isolation) => {
  it('is seen only when the transaction commits', async () => {
    const bundle = await setup()
    const caller = await Session.open(bundle)
    const job = aJob()
    await caller.begin(isolation)

    expect(await enqueue(bundle.db, [job], caller.client)).toEqual(new Map([[job.id, 'enqueued']]))
    expect(await bundle.placesOf(job.id)).toEqual([])
    expect(await caller.commit()).toBe('COMMIT')

    expect(await bundle.placesOf(job.id)).toEqual(['ready'])
  })

  it('leaves nothing when the transaction rolls back, and may then be asked again', async () => {
    const bundle = await setup()
    const caller = await Session.open(bundle)
    const job = aJob()
    await caller.begin(isolation)
    await enqueue(bundle.db, [job], caller.client)
    await caller.rollback()

    expect(await bundle.see(job.id)).toBeUndefined()
    expect(await enqueue(bundle.db, [job])).toEqual(new Map([[job.id, 'enqueued']]))
  })

  it('recognises a job that the transaction itself has enqueued', async () => {
    const bundle = await setup()
    const caller = await Session.open(bundle)
    const job = aJob()
    await caller.begin(isolation)
    await enqueue(bundle.db, [job, job], caller.client)

    expect(await enqueue(bundle.db, [job], caller.client)).toEqual(new Map([[job.id, 'existing']]))
    await caller.commit()

    expect(await bundle.placesOf(job.id)).toEqual(['ready'])
  })

  it('stores the job when a first try in flight rolls back', async () => {
    const bundle = await setup()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    const job = aJob()
    await first.begin()
    await enqueue(first, [job])
    await second.begin(isolation)

    const answer = enqueue(second, [job])
    await untilBlocked(bundle.sql, second.pid, answer)
    await first.rollback()

    expect(await answer).toEqual(new Map([[job.id, 'enqueued']]))
    await second.commit()
    expect(await bundle.placesOf(job.id)).toEqual(['ready'])
  })
})

it('waits for a first try in flight and answers existing when it commits', async () => {
  const bundle = await setup()
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  const job = aJob()
  await first.begin()
  await enqueue(first, [job])

  const answer = enqueue(second, [job])
  await untilBlocked(bundle.sql, second.pid, answer)
  await first.commit()

  expect(await answer).toEqual(new Map([[job.id, 'existing']]))
  expect(await bundle.placesOf(job.id)).toEqual(['ready'])
})

it.each(aboveReadCommitted)(
  'at %s, a first try in flight that commits is a serialization failure',
  async (isolation) => {
    const bundle = await setup()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    const job = aJob()
    await first.begin()
    await enqueue(first, [job])
    await second.begin(isolation)

    const answer = enqueue(second, [job])
    await untilBlocked(bundle.sql, second.pid, answer)
    await first.commit()

    await expect(answer).rejects.toMatchObject(serialization)
    expect(await second.commit()).toBe('ROLLBACK')
    expect(await bundle.placesOf(job.id)).toEqual(['ready'])
  },
)

it('refuses a different job under an id that was in flight', async () => {
  const bundle = await setup()
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  const job = aJob()
  await first.begin()
  await enqueue(first, [job])

  const answer = enqueue(second, [aJob(), { ...job, payloadText: '"other"' }])
  await untilBlocked(bundle.sql, second.pid, answer)
  await first.commit()

  await expect(answer).rejects.toMatchObject(conflict)
  expect(await bundle.sql('select id from fencepost.job')).toEqual([{ id: job.id }])
})

it('holds no higher id while it waits for a lower one, so that two batches cannot deadlock', async () => {
  const bundle = await setup()
  const [first, second, third] = [await Session.open(bundle), await Session.open(bundle), await Session.open(bundle)]
  const ids = [aJob().id, aJob().id].sort()
  const [low, high] = [aJob({ id: ids[0] as string }), aJob({ id: ids[1] as string })]
  await first.begin()
  await enqueue(first, [low])

  const waiting = enqueue(second, [high, low])
  await untilBlocked(bundle.sql, second.pid, waiting)
  expect(await enqueue(third, [high])).toEqual(new Map([[high.id, 'enqueued']]))
  await first.commit()

  expect(await waiting).toEqual(
    new Map([
      [high.id, 'existing'],
      [low.id, 'existing'],
    ]),
  )
})

it('can be called from SQL, with defaults and a UUIDv7 of its own', async () => {
  const { sql, take } = await setup()

  const [made] = await sql<{ job_id: string; answer: string }>(`select * from fencepost.enqueue('mail', '{"to":"a"}')`)
  const again = await sql(`select * from fencepost.enqueue('mail', '{"to":"a"}', $1)`, [made?.job_id])

  expect(made?.answer).toBe('enqueued')
  expect(made?.job_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(
    Math.abs(Number.parseInt(made?.job_id.replaceAll('-', '').slice(0, 12) as string, 16) - Date.now()),
  ).toBeLessThan(60_000)
  expect(again).toEqual([{ job_id: made?.job_id, answer: 'existing' }])
  expect(await take()).toMatchObject({ task: 'mail', payload: { to: 'a' }, leaseMs: 30_000, failuresMax: 5 })
})

it('makes tasks known in the order of their names: two processes that know the same ones cannot deadlock', async () => {
  const bundle = await setup()
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  const known = (...names: string[]) => names.map((name) => ({ name, queue: 'default' }))
  await first.begin()
  await announceTasks(first, known('a'))
  const waiting = announceTasks(second, known('b', 'a'))
  await untilBlocked(bundle.sql, second.pid, waiting)

  await announceTasks(first, known('b'))

  await first.commit()
  await waiting
})

it('makes known what tasks need in the order of their names: two processes that have the same ones cannot deadlock', async () => {
  const bundle = await setup()
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  const cards = (...names: string[]) =>
    names.map((task) => ({
      task,
      queue: 'default',
      priority: 0,
      failuresMax: 5,
      lossesMax: 5,
      leaseMs: 30_000,
      keyed: false,
    }))
  await first.begin()
  await putActions(first, cards('a'))
  const waiting = putActions(second, cards('b', 'a'))
  await untilBlocked(bundle.sql, second.pid, waiting)

  await putActions(first, cards('b'))

  await first.commit()
  await waiting
})

describe('what a worker’s turn was to store', () => {
  const unknown = new FencepostError('FP_COMMIT_UNKNOWN')
  const refused = new FencepostError('FP_DATABASE_ERROR')

  it('is enqueued by itself if that failed or nobody knows, as a repeat', async () => {
    const { db, sql } = await setup()
    for (const failed of [unknown, refused]) {
      for (const jobs of [[aJob()], [aJob(), aJob()]]) {
        await enqueueAfter(db, jobs, failed)
        await enqueueAfter(db, jobs, failed) // it was stored after all
      }
    }
    expect(await sql('select 1 from fencepost.job')).toHaveLength(6)
    expect(await sql('select 1 from fencepost.ready')).toHaveLength(6)
  })

  it('is told as unknown only if the first try may have stored it, and the database is away since', async () => {
    const { url } = await setup()
    const proxy = await FaultProxy.start(url)
    const db = new Database({ url: proxy.url, retryMs: 50 })
    onTestFinished(() => db.close())
    await proxy.stop()

    await expect(enqueueAfter(db, [aJob()], unknown)).rejects.toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })
    await expect(enqueueAfter(db, [aJob()], refused)).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
  })

  it('is told as unknown if a trigger refuses the repeat', async () => {
    const { db, sql } = await setup()
    const job = aJob()
    await enqueue(db, [job])
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin
        if exists (select 1 from fencepost.job) then raise exception 'one is enough'; end if; return new; end $$;
      create trigger refuse before insert on fencepost.job for each row execute function refuse()`)

    await expect(enqueueAfter(db, [job], unknown)).rejects.toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })
    await expect(enqueueAfter(db, [job], refused)).rejects.toMatchObject({
      code: 'FP_DATABASE_ERROR',
      cause: { code: 'P0001' },
    })
  })

  it('is refused if its id is another job’s', async () => {
    const { db, sql } = await setup()
    const job = aJob()
    await enqueue(db, [job])
    const taken = await enqueue(db, [job], undefined, true).catch((error: unknown) => error)

    await expect(enqueueAfter(db, [job], taken)).rejects.toBe(taken)
    expect(taken).toMatchObject({ code: 'FP_DATABASE_ERROR', cause: { code: '23505', constraint: 'job_pkey' } })
    expect(await sql('select 1 from fencepost.job')).toHaveLength(1)
  })

  it('is told as refused if it is, however the first try ended', async () => {
    const { db, sql } = await setup()
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin
        raise exception using errcode = '23514', message = 'no'; end $$;
      create trigger refuse before insert on fencepost.job for each row execute function refuse()`)
    for (const failed of [unknown, refused]) {
      await expect(enqueueAfter(db, [aJob()], failed)).rejects.toMatchObject({
        code: 'FP_DATABASE_ERROR',
        cause: { code: '23514' },
      })
    }
  })
})
