import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import type { Database } from '../../src/store/database.js'
import { enqueue, type NewJob } from '../../src/store/enqueue.js'
import { pause } from '../../src/store/gates.js'
import { loseExpired } from '../../src/store/lease.js'
import { type Finish, fail, finish, release } from '../../src/store/settle.js'
import { takeTurn, type Turn } from '../../src/store/turn.js'
import { statementMsMax } from '../../src/worker/worker.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { aJob, forged, setup } from '../harness/setup.js'

let number = 0

function aTurn(said: Partial<Turn> = {}): Turn {
  return {
    worker: 'w1',
    turn: ++number,
    finish: [],
    fail: [],
    release: [],
    start: [],
    claim: { queues: [], room: 0, suspect: false },
    tasks: ['test'],
    ...said,
  }
}

const turn = (db: Database, said: Partial<Turn> = {}) => takeTurn(db, aTurn(said))

const from = (queue: string, limit: number, suspect = false, starts = limit) => ({
  queues: [{ queue, limit, starts }],
  room: limit,
  suspect,
})

it('settles, starts and claims in one statement', async () => {
  const { db, add, take, see, sql } = await setup()
  const [done, bad, back, next, fresh] = [await add(), await add(), await add(), await add(), await add()]
  const [first, second, third, fourth] = [await take(), await take(), await take(), await take({ started: false })]

  const answer = await turn(db, {
    finish: [{ ...first, resultText: '1' }],
    fail: [{ ...second, errorText: '"no"', delayMs: 60_000, final: false }],
    release: [{ ...third, reason: 'shutdown' }],
    start: [fourth],
    claim: from('default', 5),
  })

  expect(answer.finish).toEqual([]) // as one would expect, and not worth telling
  expect(answer.fail).toMatchObject([{ jobId: bad, answer: 'retrying' }])
  expect(answer.release).toMatchObject([{ jobId: back, answer: 'released' }])
  expect(answer.start).toEqual([])
  expect(answer.leases.map(({ jobId, started }) => ({ jobId, started }))).toEqual([
    { jobId: back, started: true },
    { jobId: fresh, started: true },
  ])
  expect(await see(done)).toMatchObject({ outcome: 'succeeded' })
  expect(await see(bad)).toMatchObject({ place: 'delayed', failures: 1 })
  expect(await see(back)).toMatchObject({ place: 'leased', releases: 1, tries: 2 })
  expect(await sql('select started_at is not null as started from fencepost.leased where job_id = $1', [next])).toEqual(
    [{ started: true }],
  )
})

it('tells what did not go as one would expect', async () => {
  const { db, add, take } = await setup()
  const [stale, already] = [await add(), await add()]
  const [first, second] = [await take(), await take()]
  await fail(db, [{ ...first, errorText: '1', delayMs: 0, final: false }])
  await finish(db, [{ ...second, resultText: '1' }])

  const answer = await turn(db, {
    finish: [
      { ...first, resultText: '1' },
      { ...second, resultText: '1' },
    ],
    start: [forged(first)],
  })

  expect(answer.finish.toSorted((a, b) => a.leaseId - b.leaseId)).toMatchObject([
    { jobId: stale, answer: 'stale', outcome: null },
    { jobId: already, answer: 'already', outcome: 'succeeded' },
  ])
  expect(answer.start).toMatchObject([{ answer: 'stale' }])
})

it('releases each for its own reason', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  await add()
  const [first, second] = [await take(), await take()]

  await turn(db, {
    release: [
      { ...first, reason: 'shutdown' },
      { ...second, reason: 'no_room' },
    ],
  })

  expect(await sql('select lease_id, reason from fencepost.attempt order by lease_id')).toEqual([
    { lease_id: first.leaseId, reason: 'shutdown' },
    { lease_id: second.leaseId, reason: 'no_room' },
  ])
})

it('claims from several queues, each up to its limit, and together no more than there is room', async () => {
  const { db, add } = await setup()
  for (let i = 0; i < 3; i++) {
    await add({ queue: 'mail' })
    await add({ queue: 'reports' })
  }

  const { leases } = await turn(db, {
    claim: {
      queues: [
        { queue: 'mail', limit: 2, starts: 2 },
        { queue: 'reports', limit: 3, starts: 3 },
      ],
      room: 4,
      suspect: false,
    },
  })

  expect(leases.map(({ queue }) => queue)).toEqual(['mail', 'mail', 'reports', 'reports'])
})

it('repeated after a lost reply, settles nothing twice and answers the same leases, queue by queue', async () => {
  const { url, connect, add, take, see } = await setup()
  const done = await add()
  const lease = await take()
  const mail = await add({ queue: 'mail' })
  const report = await add({ queue: 'reports' })
  await add({ queue: 'mail' })
  const session = await Session.open({ url, connect })
  const said = {
    turn: ++number,
    finish: [{ ...lease, resultText: '1' }],
    claim: {
      queues: [
        { queue: 'mail', limit: 1, starts: 1 },
        { queue: 'reports', limit: 1, starts: 1 },
      ],
      room: 2,
      suspect: false,
    },
  }

  const first = await turn(session, said)
  session.again = true
  const again = await turn(session, said)

  expect(first.leases.map(({ jobId }) => jobId)).toEqual([mail, report])
  const named = (leases: typeof again.leases) => leases.map((taken) => ({ ...taken, leftMs: 0 }))
  expect(named(again.leases)).toEqual(named(first.leases))
  expect(again.finish).toMatchObject([{ jobId: done, answer: 'already' }])
  expect(await see(done)).toMatchObject({ outcome: 'succeeded', tries: 1 })
})

it('starts as many as there are free handlers, and of what it claims ahead only what was tried before', async () => {
  const { db, add, sql } = await setup()
  const [first, second, triedBefore] = [await add(), await add({ priority: 1 }), await add({ priority: 2 })]
  await sql(`select fencepost.claim('default', 3, 'w0')`)
  await sql('update fencepost.leased set expires_at = fencepost.clock()')
  await sql('select fencepost.lose()')
  await sql('update fencepost.ready set tries = 0 where job_id = any ($1)', [[first, second]])

  const { leases } = await turn(db, { claim: from('default', 3, false, 1) })

  expect(leases.map(({ jobId, started }) => ({ jobId, started }))).toEqual([
    { jobId: first, started: true },
    { jobId: second, started: false },
    { jobId: triedBefore, started: true },
  ])
})

it('in a repeat answers what the first try took from any queue before it claims from another', async () => {
  const { url, connect, add } = await setup()
  const mail = await add({ queue: 'mail' })
  const session = await Session.open({ url, connect })
  const said = {
    turn: ++number,
    claim: {
      queues: [
        { queue: 'default', limit: 1, starts: 1 },
        { queue: 'mail', limit: 1, starts: 1 },
      ],
      room: 1,
      suspect: false,
    },
  }
  await turn(session, said)
  await add() // comes into the first queue while the reply is lost

  session.again = true
  const again = await turn(session, said)

  expect(again.leases.map(({ jobId }) => jobId)).toEqual([mail])
})

it('repeated while its first try is under way, waits for that and answers its leases', async () => {
  const bundle = await setup()
  const [id] = [await bundle.add(), await bundle.add()]
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  const said = { turn: ++number, claim: from('default', 1) }
  await first.begin()
  await turn(first, said)

  second.again = true
  const again = turn(second, said)
  await untilBlocked(bundle.sql, second.pid, again)
  await first.commit()

  expect((await again).leases.map(({ jobId }) => jobId)).toEqual([id])
})

it('in a repeat whose first try took nothing claims as ever', async () => {
  const { url, connect, add } = await setup()
  const session = await Session.open({ url, connect })
  const id = await add()
  session.again = true

  const { leases } = await turn(session, { claim: from('default', 1) })

  expect(leases.map(({ jobId, started }) => ({ jobId, started }))).toEqual([{ jobId: id, started: true }])
})

it('tells what is left of a lease', async () => {
  const { db, add } = await setup()
  await add({ leaseMs: 7_000 })
  const { leases } = await turn(db, { claim: from('default', 1) })
  expect(leases[0]?.leftMs).toBeGreaterThan(6_000)
  expect(leases[0]?.leftMs).toBeLessThanOrEqual(7_000)
})

it('keeps a job with losses apart: it comes alone, unstarted, and only when it is asked for', async () => {
  const { db, add, advance, take, sql, see } = await setup()
  const suspect = await add()
  await take()
  await advance(31_000)
  await sql('select fencepost.lose()')
  const innocent = await add()

  const without = await turn(db, { claim: from('default', 10) })
  const withIt = await turn(db, { claim: from('default', 10, true) })

  expect(without.leases.map(({ jobId }) => jobId)).toEqual([innocent])
  expect(withIt.leases.map(({ jobId, started }) => ({ jobId, started }))).toEqual([{ jobId: suspect, started: false }])
  expect(await see(suspect)).toMatchObject({ place: 'leased', losses: 1 })
})

it('takes at most one suspect, beside the jobs there is room for', async () => {
  const { db, add, advance, take, sql } = await setup()
  for (let i = 0; i < 3; i++) await add()
  for (let i = 0; i < 3; i++) await take()
  await advance(31_000)
  await sql('select fencepost.lose()')
  const fresh = [await add(), await add()]
  await add()

  const { leases } = await turn(db, { claim: from('default', 2, true) })

  expect(leases.filter(({ losses }) => losses > 0)).toHaveLength(1)
  const others = leases.filter(({ losses }) => losses === 0)
  expect(others.map(({ jobId }) => jobId)).toEqual(fresh)
  expect(others.every(({ started }) => started)).toBe(true)
})

it('locks its leases in one order with a cancel of several jobs, whatever it says of which', async () => {
  const { url, connect, sql, add, take } = await setup()
  await add()
  await add()
  const [first, second] = [await take(), await take()]
  const [worker, person, third] = [
    await Session.open({ url, connect }),
    await Session.open({ url, connect }),
    await Session.open({ url, connect }),
  ]
  // The first lease is busy, so that both stop there; without the order the turn would hold the second one already.
  await third.begin()
  await third.query('select 1 from fencepost.leased where lease_id = $1 for update', [first.leaseId])
  const said = turn(worker, {
    finish: [{ ...second, resultText: '1' }],
    fail: [{ ...first, errorText: '1', delayMs: 0, final: false }],
  })
  await untilBlocked(sql, worker.pid, said)

  const free = await person.query<{ lease_id: number }>(
    'select lease_id from fencepost.leased order by lease_id for update skip locked',
  )

  expect(free.map(({ lease_id }) => lease_id)).toEqual([second.leaseId])
  await third.commit()
  expect((await said).fail).toMatchObject([{ answer: 'retrying' }])
  await cancel(worker, [first.jobId], null)
})

it('claims ahead neither what it does not know, nor a job with losses', async () => {
  const { db, add, take, advance } = await setup()
  await add()
  await take()
  await advance(31_000)
  await loseExpired(db)
  await add({ task: 'another' })

  expect((await turn(db, { claim: from('default', 5, false, 0) })).leases).toEqual([])
})

it('takes no suspect of a task that it does not know', async () => {
  const { db, add, take, advance } = await setup()
  await add({ task: 'another' })
  await take()
  await advance(31_000)
  await loseExpired(db)

  expect((await turn(db, { claim: from('default', 5, true) })).leases).toEqual([])
})

it('in a repeat takes nothing besides what the first try took', async () => {
  const { db, add } = await setup()
  const first = await add()
  const said = { turn: ++number, claim: from('default', 5) }
  await turn(db, said)
  await add()

  const again = await takeTurn(
    db,
    { worker: 'w1', finish: [], fail: [], release: [], start: [], tasks: ['test'], ...said },
    true,
  )

  expect(again.leases.map(({ jobId }) => jobId)).toEqual([first])
})

function repeat(db: Database, said: Pick<Turn, 'turn' | 'claim'>, tasks = ['test']) {
  return takeTurn(db, { worker: 'w1', finish: [], fail: [], release: [], start: [], tasks, ...said }, true)
}

it('in a repeat tells what is left of the leases of its first try', async () => {
  const { db, add, advance } = await setup()
  await add()
  const said = { turn: ++number, claim: from('default', 5) }
  const [lease] = (await turn(db, said)).leases
  await advance(20_000)

  const [again] = (await repeat(db, said)).leases

  expect(lease?.leftMs).toBeGreaterThan(20_000)
  expect(again).toMatchObject({ leaseId: lease?.leaseId, leaseMs: 30_000 })
  expect(again?.leftMs).toBeLessThanOrEqual(10_000)
})

it('in a repeat tells the name of a task that it does not know any more', async () => {
  const { db, add } = await setup()
  await add({ task: 'te"st\\' })
  const said = { turn: ++number, claim: from('default', 5) }
  await turn(db, { ...said, tasks: ['te"st\\'] })

  expect((await repeat(db, said)).leases).toMatchObject([{ task: 'te"st\\' }])
})

it('tells of a lease what is not as it usually is', async () => {
  const { db, add, take, advance, sql } = await setup()
  const usual = await add({ task: 'a', payloadText: '{"n": [1, "]"]}' })
  const odd = await add({ task: 'b', priority: -7, failuresMax: 9, leaseMs: 7_000 })
  await sql(`update fencepost.job set policy = '{"timeoutMs": 5}' where id = $1`, [odd])
  await fail(db, [{ ...(await take()), errorText: '1', delayMs: 0, final: false }])
  await release(db, [await take()], 'shutdown')
  await take()
  await advance(8_000)
  await loseExpired(db)

  const { leases } = await turn(db, { claim: from('default', 5, true), tasks: ['x', 'a', 'b'] })

  const both = { queue: 'default', started: expect.any(Boolean), createdAtMs: expect.any(Number) }
  expect(leases.toSorted((a, b) => a.priority - b.priority)).toMatchObject([
    {
      ...both,
      jobId: odd,
      task: 'b',
      priority: -7,
      tries: 4,
      failures: 1,
      losses: 1,
      releases: 1,
      failuresMax: 9,
      leaseMs: 7_000,
      policy: { timeoutMs: 5 },
    },
    {
      ...both,
      jobId: usual,
      task: 'a',
      payload: { n: [1, ']'] },
      priority: 0,
      tries: 1,
      failures: 0,
      losses: 0,
      releases: 0,
      failuresMax: 3,
      leaseMs: 30_000,
      policy: null,
    },
  ])
})

describe('tells of one lease among many what is not as it usually is:', () => {
  const many = Array.from({ length: 25 }, () => aJob())

  it.each<[string, odd: Partial<NewJob>, told: object]>([
    ['its task', { task: 'b' }, { task: 'b' }],
    ['its time', { leaseMs: 7_000 }, { leaseMs: 7_000, leftMs: 7_000 }],
    ['its budget', { failuresMax: 9 }, { failuresMax: 9 }],
    ['its budget of losses', { lossesMax: 9 }, {}],
    ['its priority', { priority: 7 }, { priority: 7 }],
  ])('%s', async (_, odd, told) => {
    const { db, add, sql } = await setup()
    await enqueue(db, many)
    const id = await add(odd)

    const { leases } = await turn(db, { claim: from('default', 100, true, 10), tasks: ['x', 'test', 'b'] })

    const usual = { task: 'test', leaseMs: 30_000, failuresMax: 3, priority: 0, tries: 1 }
    expect(leases).toHaveLength(26)
    for (const lease of leases)
      expect(lease).toMatchObject({ ...usual, leftMs: 30_000, policy: null, ...(lease.jobId === id && told) })
    const stored = await sql<{ id: string }>(
      `select job_id as id, task, lease_ms as "leaseMs", failures_max as "failuresMax", losses_max as "lossesMax",
              priority, tries, releases, failures, losses
       from fencepost.leased`,
    )
    expect(stored).toHaveLength(26)
    const counts = { releases: 0, failures: 0, losses: 0, lossesMax: 2 }
    for (const row of stored) expect(row).toEqual({ id: row.id, ...usual, ...counts, ...(row.id === id && odd) })
    expect(leases.map(({ started }) => started)).toEqual(leases.map((lease) => leases.indexOf(lease) < 10))
  })

  it('how often it was tried', async () => {
    const { db, add, take, sql } = await setup()
    const id = await add()
    await release(db, [await take()], 'shutdown')
    await enqueue(db, many)

    const { leases } = await turn(db, { claim: from('default', 100) })

    expect(await sql('select tries, releases from fencepost.leased where job_id = $1', [id])).toEqual([
      { tries: 2, releases: 1 },
    ])

    expect(leases.map(({ jobId, tries, releases }) => ({ jobId, tries, releases }))).toEqual([
      { jobId: id, tries: 2, releases: 1 },
      ...many.map((job) => ({ jobId: job.id, tries: 1, releases: 0 })),
    ])
  })

  it.each([
    ['what its workflow says', 100],
    ['what its workflow says, also if it is claimed ahead', 10],
  ])('%s', async (_, starts) => {
    const { db, add, sql } = await setup()
    await enqueue(db, many)
    const id = await add()
    await sql(`update fencepost.job set policy = '{"timeoutMs": 5}' where id = $1`, [id])

    const { leases } = await turn(db, { claim: from('default', 100, true, starts) })

    const usual = { priority: 0, tries: 1, failures: 0, losses: 0, releases: 0, policy: null }
    const told = leases.map(({ priority, tries, failures, losses, releases, policy, started }) => {
      return { priority, tries, failures, losses, releases, policy, started }
    })
    expect(told).toEqual([
      ...many.map((job) => ({ ...usual, started: many.indexOf(job) < starts })),
      { ...usual, policy: { timeoutMs: 5 }, started: starts > many.length },
    ])
  })
})

it('stores the results of a turn, and nothing for those that are null', async () => {
  const { db, add, take, sql } = await setup()
  for (let n = 0; n < 4; n++) await add()
  const leases = [await take(), await take(), await take(), await take()]
  const results = (texts: string[]) => texts.map((resultText) => ({ ...leases.shift(), resultText }) as Finish)

  await turn(db, { finish: results(['null', 'null']) })
  await turn(db, { finish: results(['null', '{"a": 1}']) })

  expect(await sql('select result::text from fencepost.finished order by lease_id')).toEqual([
    { result: null },
    { result: null },
    { result: null },
    { result: '{"a": 1}' },
  ])
})

it('gives up on a lease that an open transaction holds before the client does, and leaves nobody waiting', async () => {
  const bundle = await setup()
  await bundle.add()
  const lease = await bundle.take()
  const [own] = await bundle.sql<{ ms: number | null }>(
    `select extract(epoch from split_part(c, '=', 2)::interval) * 1000 as ms
     from pg_proc left join unnest(proconfig) as c on c like 'lock_timeout=%' where proname = 'turn'`,
  )
  expect(Number(own?.ms)).toBeGreaterThan(0)
  expect(Number(own?.ms)).toBeLessThan(statementMsMax)
  // As it is, but a hundred times as fast.
  const [turnOf] = await bundle.sql<{ name: string }>(`select 'fencepost.turn'::regproc::oid::regprocedure as name`)
  await bundle.sql(`alter function ${turnOf?.name} set lock_timeout = '${Number(own?.ms) / 100}ms'`)
  const [holder, worker] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')

  const said = { finish: [{ ...lease, resultText: '1' }] }
  await expect(turn(worker, said)).rejects.toThrow('lock timeout')

  await holder.commit()
  await turn(worker, said)
  expect(await bundle.see(lease.jobId)).toMatchObject({ outcome: 'succeeded' })
})

describe('leases that are told many at a time', () => {
  const small = '{"n": 1}'
  const large = JSON.stringify('x'.repeat(10_000))
  const fifty = Array.from({ length: 50 }, () => small)

  /** And a worker that has thirty jobs to settle: it will be told of many. */
  async function setupTold(payloads: readonly string[], queueOf: (n: number) => string = () => 'default') {
    const bundle = await setup()
    await enqueue(
      bundle.db,
      fifty.slice(20).map(() => aJob()),
    )
    const { leases } = await turn(bundle.db, { claim: from('default', 30) })
    const jobs = payloads.map((payloadText, n) => aJob({ payloadText, queue: queueOf(n) }))
    await enqueue(bundle.db, jobs)
    return {
      ...bundle,
      ids: jobs.map(({ id }) => id),
      busyTurn: (claim: Turn['claim']) =>
        turn(bundle.db, { finish: leases.map((lease) => ({ ...lease, resultText: 'null' })), claim }),
      /** What comes back for a turn that ends with this word on whether it is to be joined. */
      told: (joined = '') =>
        bundle.sql<{ told: string }>(
          `select told from fencepost.turn('w1', 1, false, '{test}', null, null, null, null, null, null, null, null, null,
             null, null, null, null, null, null, null, null, '{default}', '{100}', '{100}', 100, false${joined}) as told`,
        ),
    }
  }

  it('come in a few texts', async () => {
    const { told } = await setupTold(fifty)
    expect((await told(', true')).length).toBeLessThan(3)
  })

  it('come in texts of their own to who knows no others', async () => {
    const { told } = await setupTold(fifty)
    expect(await told()).toHaveLength(50)
  })

  it('come in texts of their own if they are large: many of them would be more than a value can hold', async () => {
    const { told } = await setupTold([large, small, large, small, large])
    const sizes = (await told(', true')).map((row) => row.told.length)
    expect(sizes.length).toBeGreaterThan(3)
    expect(Math.max(...sizes)).toBeLessThan(11_000)
  })

  it('are heard in the order in which they are to run', async () => {
    const { busyTurn, ids } = await setupTold([small, large, small, large, small, small])
    const { leases } = await busyTurn(from('default', 99))
    expect(leases.map(({ jobId }) => jobId)).toEqual(ids)
  })

  it('are counted one by one', async () => {
    const { busyTurn, ids } = await setupTold(fifty, (n) => (n < 25 ? 'default' : 'mail'))
    const queues = ['default', 'mail'].map((queue) => ({ queue, limit: 50, starts: 0 }))
    const { leases } = await busyTurn({ queues, room: 30, suspect: false })
    expect(leases.map(({ jobId }) => jobId)).toEqual(ids.slice(0, 30))
  })

  it('are none of a paused queue', async () => {
    const { busyTurn, db } = await setupTold(fifty)
    await pause(db, 'pause:queue:default')
    expect((await busyTurn(from('default', 99))).leases).toEqual([])
  })
})
