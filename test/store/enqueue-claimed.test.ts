import { expect, it, onTestFinished } from 'vitest'
import { Database } from '../../src/store/database.js'
import { enqueue, type NewJob } from '../../src/store/enqueue.js'
import { pause } from '../../src/store/gates.js'
import { finish } from '../../src/store/settle.js'
import { takeTurn, takeTurnStoring } from '../../src/store/turn.js'
import { fallAsleep } from '../../src/store/worker.js'
import { untilBlocked, untilBlockedBy } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { setupGates } from '../harness/gates.js'
import { setupRunMoves } from '../harness/runs.js'
import { isolations, Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

let number = 0

function aTurn(limit: number, starts = limit) {
  return {
    worker: 'w1',
    turn: ++number,
    finish: [],
    fail: [],
    release: [],
    start: [],
    claim: { queues: [{ queue: 'default', limit, starts }], room: limit, suspect: false },
    tasks: ['another', 'test'],
  }
}

/** A database where nothing may become ready. */
async function setupNothingReady() {
  const bundle = await setup()
  await bundle.sql(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'it was ready'; end $$;
    create trigger refuse before insert on fencepost.ready for each row execute function refuse()`)
  return bundle
}

it.each(isolations)('claims them in the same transaction, at %s', async (isolation) => {
  const { url, sql } = await setup()
  const db = new Database({
    url: `${url}?options=${encodeURIComponent(`-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`)}`,
  })
  onTestFinished(() => db.close())
  const jobs = [aJob({ payloadText: '{"n":1}' }), aJob({ payloadText: '{"n":2}' })]

  const { leases } = await takeTurnStoring(db, aTurn(5), jobs)

  expect(leases.map(({ jobId, payload, started, tries }) => ({ jobId, payload, started, tries }))).toEqual(
    jobs.map(({ id }, n) => ({ jobId: id, payload: { n: n + 1 }, started: true, tries: 1 })),
  )
  expect(
    await sql(`select count(*)::int as n from (select xmin::text from fencepost.job
      union select xmin::text from fencepost.leased) t`),
  ).toEqual([{ n: 1 }])
  expect(await sql('select 1 from fencepost.ready')).toEqual([])
})

it('claims what is older or more urgent first, and leaves them for the next', async () => {
  const { db, add, placesOf } = await setup()
  const [older, urgent] = [await add(), await add({ priority: -1 })]
  const job = aJob()

  const { leases } = await takeTurnStoring(db, aTurn(2), [job])

  expect(leases.map(({ jobId }) => jobId)).toEqual([urgent, older])
  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('stores nothing if it cannot claim, and claims nothing if it cannot store', async () => {
  const { db, add, placesOf, sql } = await setup()
  const older = await add()
  const refuse = (table: string) => `create trigger refuse before insert on fencepost.${table}
    for each row execute function refuse()`
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  for (const table of ['job', 'leased']) {
    await sql(refuse(table))
    await expect(takeTurnStoring(db, aTurn(2), [aJob()])).rejects.toThrow('no')
    await sql(`drop trigger refuse on fencepost.${table}`)
  }
  expect(await sql('select id from fencepost.job')).toEqual([{ id: older }])
  expect(await placesOf(older)).toEqual(['ready'])
})

it('is tried once, and tells if nobody knows what became of it; a repeat of the turn answers its leases', async () => {
  const { url, sql } = await setup()
  const proxy = await FaultProxy.start(url)
  const db = new Database({ url: proxy.url })
  onTestFinished(() => db.close())
  const [job, said] = [aJob(), aTurn(1)]
  const lost = proxy.loseReplyWith(job.id)

  await expect(takeTurnStoring(db, said, [job])).rejects.toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })

  await lost
  expect((await takeTurn(db, said, true)).leases).toMatchObject([{ jobId: job.id, tries: 1 }])
  expect(await sql('select 1 from fencepost.leased')).toHaveLength(1)
})

it('is waited for by a repeat of the turn from its very beginning', async () => {
  const bundle = await setup()
  await bundle.sql(`create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on fencepost.job for each row execute function wait()`)
  const [holder, second] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(1)')
  const [job, said] = [aJob(), aTurn(1)]
  const first = takeTurnStoring(bundle.db, said, [job])
  await untilBlockedBy(bundle.sql, holder)

  const again = takeTurn(second, said, true)
  await untilBlocked(bundle.sql, second.pid, again)
  await holder.commit()

  const leases = [{ jobId: job.id, leaseId: (await first).leases[0]?.leaseId }]
  expect((await again).leases).toMatchObject(leases)
})

it('leases them without their ever being ready, where it would claim nothing else', async () => {
  const { db, placesOf } = await setupNothingReady()
  const jobs = [aJob(), aJob()]
  const { leases } = await takeTurnStoring(db, aTurn(5), jobs)

  expect(leases.map(({ jobId }) => jobId)).toEqual(jobs.map(({ id }) => id))
  for (const { id } of jobs) expect(await placesOf(id)).toEqual(['leased'])
})

it('notifies nobody of what is leased already', async () => {
  const bundle = await setup()
  await fallAsleep(bundle.db, 'w2', ['default']) // the move by which a worker asks to be notified: it waits for nothing
  const heard: (string | undefined)[] = []
  const listener = await bundle.connect()
  listener.on('notification', ({ payload }) => heard.push(payload))
  await listener.query('listen """fencepost"".ready"')

  await takeTurnStoring(bundle.db, aTurn(1), [aJob()])
  await enqueue(bundle.db, [aJob()])

  await expect.poll(() => heard).toEqual(['default'])
})

const odd: [string, Partial<NewJob>][] = [
  ['a plain job', {}],
  ['one with a payload', { payloadText: '{"b": 1.50, "a": [null, "\\u00e9\\""], "b": 2}' }],
  ['one of another lease', { leaseMs: 1_234 }],
  ['one of other budgets', { failuresMax: 0, lossesMax: 9 }],
  ['one with a priority', { priority: -3 }],
]

it.each(odd)('%s is leased, and told of, as if it had been enqueued and claimed', async (_, other) => {
  const bundle = await setup()
  const session = await Session.open(bundle)
  const comparable = (row: object) => ({ ...row, job_id: 0, lease_id: 0, nonce: 0, seq: 0, turn: 0 })
  const outcomes = []
  // Marks of a session: it claims as ever.
  for (const marks of ['', '{}']) {
    await session.query(`set fencepost_claim.marks = '${marks}'`)
    await session.begin()
    const job = aJob(other)
    const { leases } = await takeTurnStoring(session, aTurn(5), [job])
    const [lease] = leases
    const [row] = await session.query<{ claimed_at: Date; expires_at: Date; started_at: Date }>(
      'select * from fencepost.leased where job_id = $1',
      [job.id],
    )
    if (!lease || !row) throw new Error('it was not leased')
    const { task, queue, payload, priority, tries, failures, losses, releases, failuresMax, leaseMs, leftMs } = lease
    outcomes.push({
      told: { task, queue, payload, priority, tries, failures, losses, releases, failuresMax, leaseMs, leftMs },
      policy: lease.policy,
      started: lease.started,
      fence: [lease.jobId === job.id, typeof lease.leaseId, Number.isSafeInteger(lease.nonce)],
      row: {
        ...comparable(row),
        claimed_at: 0,
        expires_at: row.expires_at.getTime() - row.claimed_at.getTime(),
        started_at: row.started_at.getTime() - row.claimed_at.getTime(),
      },
      sinceMs: Math.abs(lease.createdAtMs - row.claimed_at.getTime()) < 1_000,
    })
    await finish(session, [{ ...lease, resultText: '1' }])
    await session.commit()
  }
  expect(outcomes[0]).toEqual(outcomes[1])
})

it('makes fences that are not reused when a failover sets the sequence back', async () => {
  const { db, sql } = await setup()
  const first = await takeTurnStoring(db, aTurn(1), [aJob()])
  await sql('delete from fencepost.leased')
  await sql(`select setval('fencepost.lease_seq', 1, false)`)
  const second = await takeTurnStoring(db, aTurn(1), [aJob()])

  expect(first.leases[0]?.leaseId).toBe(second.leases[0]?.leaseId)
  expect(first.leases[0]?.nonce).not.toBe(second.leases[0]?.nonce)
})

it('leases no more than it may, and starts no more than have a handler', async () => {
  const { db, placesOf } = await setup()
  const [first, second, third] = [aJob(), aJob(), aJob()]

  const { leases } = await takeTurnStoring(db, aTurn(2, 1), [first, second, third])

  expect(leases.map(({ jobId, started }) => [jobId, started])).toEqual([
    [first.id, true],
    [second.id, false],
  ])
  expect(await placesOf(third.id)).toEqual(['ready'])
})

it('leases nothing that is paused', async () => {
  const { db, placesOf } = await setup()
  for (const key of ['pause:queue:default', 'pause:task:test']) {
    await pause(db, key)
    const job = aJob()
    expect((await takeTurnStoring(db, aTurn(1), [job])).leases).toEqual([])
    expect(await placesOf(job.id)).toEqual(['ready'])
    await db.once('delete from fencepost.gate')
    await db.once('delete from fencepost.ready')
  }
})

it('leaves a job whose task its worker does not know', async () => {
  const { db, placesOf } = await setup()
  const job = aJob({ task: 'unheard of' })

  expect((await takeTurnStoring(db, aTurn(1), [job])).leases).toEqual([])
  expect(await placesOf(job.id)).toEqual(['ready'])
})

/** Somebody makes an index, say, and it waits for that. */
async function setupWaiting(table: string, job: NewJob) {
  const bundle = await setup()
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query(`lock table fencepost.${table} in share mode`)
  const turn = takeTurnStoring(bundle.db, aTurn(1), [job])
  await untilBlockedBy(bundle.sql, holder)
  return { ...bundle, holder, turn }
}

it('heeds a pause that was answered while it waited', async () => {
  const job = aJob()
  const { db, holder, turn, placesOf } = await setupWaiting('job', job)
  await pause(db, 'pause:queue:default')
  await holder.commit()

  expect((await turn).leases).toEqual([])
  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('makes no lease that has run out while it waited', async () => {
  for (const table of ['job', 'leased']) {
    const { advance, holder, turn, sql } = await setupWaiting(table, aJob({ leaseMs: 1_000 }))
    await advance(60_000)
    await holder.commit()

    await turn
    expect(await sql('select expires_at > fencepost.clock() as holds from fencepost.leased')).toEqual([{ holds: true }])
  }
})

it('heeds nudges, as any turn', async () => {
  const { db, sql, nudges } = await setupGates()
  await sql(`insert into fencepost.nudge (key, freed) values ('gate:k', 0)`)

  await takeTurnStoring(db, aTurn(5), [aJob()])

  expect(await nudges()).toEqual([])
})

it('tells that a run has something to do, as any turn', async () => {
  const { db, start } = await setupRunMoves()
  await start('name: nap\ntasks: [{ name: nap, action: core.sleep, input: { for: 10s } }]')

  expect((await takeTurnStoring(db, aTurn(1), [aJob()])).called).toBe(true)
})
