import { expect, it } from 'vitest'
import { enqueue } from '../../src/store/enqueue.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { finish, release } from '../../src/store/settle.js'
import { untilBlocked } from '../harness/blocked.js'
import { isolations, Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

const one = { queue: 'default', limit: 1, worker: 'w1' }

it('leases a job with all that its handler needs, for its own lease length', async () => {
  const { db, add, see, placesOf } = await setup()
  const id = await add({ payloadText: '{"n":1}', leaseMs: 5_000, priority: 3, failuresMax: 4 })

  const [lease] = await claim(db, one)

  expect(lease).toMatchObject({
    jobId: id,
    task: 'test',
    queue: 'default',
    priority: 3,
    payload: { n: 1 },
    tries: 1,
    failures: 0,
    losses: 0,
    releases: 0,
    failuresMax: 4,
    leaseMs: 5_000,
  })
  expect(Number(lease?.expiresAt) - Number(lease?.claimedAt)).toBe(5_000)
  expect(await placesOf(id)).toEqual(['leased'])
  expect(await see(id)).toMatchObject({ place: 'leased', tries: 1, failures: 0, losses: 0, releases: 0 })
})

it('answers nothing when there is nothing', async () => {
  const { db } = await setup()
  expect(await claim(db, one)).toEqual([])
})

it('takes the smaller priority first, and within a priority the older job', async () => {
  const { db, add } = await setup()
  const [late, urgent, urgentToo, normal] = [
    await add({ priority: 5 }),
    await add({ priority: -1 }),
    await add({ priority: -1 }),
    await add(),
  ]

  const order = []
  for (let i = 0; i < 4; i++) order.push((await claim(db, one))[0]?.jobId)

  expect(order).toEqual([urgent, urgentToo, normal, late])
})

it('takes jobs of the first and the last priority there is', async () => {
  const { db, sql } = await setup()
  for (const priority of [32_767, -32_768]) await sql('select fencepost.enqueue($1, priority => $2)', ['t', priority])

  const leases = await claim(db, { queue: 'default', limit: 5, worker: 'w1' })

  expect(leases.map(({ priority }) => priority)).toEqual([-32_768, 32_767])
})

it('answers in the order to run, and numbers the leases in that order', async () => {
  const { db, add } = await setup()
  const [third, second, first] = [await add({ priority: 3 }), await add({ priority: 2 }), await add({ priority: 1 })]

  const leases = await claim(db, { ...one, limit: 10 })

  expect(leases.map(({ jobId }) => jobId)).toEqual([first, second, third])
  expect(leases.map(({ leaseId }) => leaseId)).toEqual(leases.map(({ leaseId }) => leaseId).toSorted((a, b) => a - b))
})

it('takes no more than the limit, and only from its queue', async () => {
  const { db, add } = await setup()
  await add({ queue: 'other' })
  const [first, second] = [await add(), await add(), await add()]

  const leases = await claim(db, { ...one, limit: 2 })

  expect(leases.map(({ jobId }) => jobId)).toEqual([first, second])
  expect(await claim(db, { ...one, queue: 'nothing' })).toEqual([])
})

it('leaves jobs of tasks that the worker does not know', async () => {
  const { db, add, placesOf } = await setup()
  const unknown = await add({ task: 'new' })
  const known = await add({ task: 'old' })

  expect(await claim(db, { ...one, limit: 5, tasks: ['old', 'older'] })).toMatchObject([{ jobId: known }])
  expect(await claim(db, { ...one, limit: 5, tasks: [] })).toEqual([])
  expect(await placesOf(unknown)).toEqual(['ready'])
})

it('passes over jobs that another claim is just taking, and takes the next', async () => {
  const bundle = await setup()
  const [first, second] = [await bundle.add(), await bundle.add()]
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  expect(await claim(a, one)).toMatchObject([{ jobId: first }])

  expect(await claim(b, { ...one, worker: 'w2', limit: 5 })).toMatchObject([{ jobId: second }])

  await a.commit()
  expect(await bundle.placesOf(first)).toEqual(['leased'])
})

it('waits for no job that another is just taking, when it claims ahead of a free handler', async () => {
  const bundle = await setup()
  const [first, second] = [await bundle.add(), await bundle.add()]
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  expect(await claim(a, one)).toMatchObject([{ jobId: first }])

  const ahead = `select job_id from fencepost.claim('default', 5, 'w2', '{test}', 1, false, 0, 0)`
  expect(await b.query(ahead)).toEqual([{ job_id: second }])
})

it('waits for no suspect that another is just taking', async () => {
  const bundle = await setup()
  const suspect = await bundle.add()
  await bundle.take()
  await bundle.advance(31_000)
  await loseExpired(bundle.db)
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  expect(await claim(a, one)).toMatchObject([{ jobId: suspect }])

  expect(await b.query(`select job_id from fencepost.claim('default', 5, 'w2', '{test}', 1, false, 5, 1)`)).toEqual([])
})

it('never gives one job to two claimers', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  const [held] = await claim(a, one)

  const other = claim(b, { ...one, worker: 'w2' })
  await untilBlocked(bundle.sql, b.pid, other).catch(() => 'it need not wait')
  await a.commit()

  expect(held).toMatchObject({ jobId: id })
  expect(await other).toEqual([])
  expect(await bundle.placesOf(id)).toEqual(['leased'])
})

it('gives each of many jobs to one of many claimers', async () => {
  const bundle = await setup()
  const jobs = Array.from({ length: 60 }, () => aJob())
  await enqueue(bundle.db, jobs)
  const sessions = await Promise.all(Array.from({ length: 6 }, () => Session.open(bundle)))

  const taken = await Promise.all(
    sessions.map(async (session, i) => {
      const all: string[] = []
      for (;;) {
        const leases = await claim(session, { queue: 'default', limit: 3, worker: `w${i}` })
        if (leases.length === 0) return all
        all.push(...leases.map(({ jobId }) => jobId))
      }
    }),
  )

  expect(taken.flat().sort()).toEqual(jobs.map(({ id }) => id).sort())
})

it('asked again for a turn, answers the leases that it took in that turn', async () => {
  const bundle = await setup()
  await bundle.add({ priority: 2 })
  await bundle.add({ priority: 1 })
  await bundle.add({ priority: 3 })
  const session = await Session.open(bundle)
  const turn = { ...one, limit: 2, turn: 1 }
  const first = await claim(session, turn)
  session.again = true

  expect(await claim(session, turn)).toEqual(first)
  expect(first.map(({ priority }) => priority)).toEqual([1, 2])
  expect(await bundle.sql('select 1 from fencepost.leased')).toHaveLength(2)
})

it('asked again for a turn, waits for the first try in flight and answers its leases', async () => {
  const bundle = await setup()
  await bundle.add()
  await bundle.add()
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  const first = await claim(a, { ...one, turn: 7 })
  b.again = true

  const repeat = claim(b, { ...one, turn: 7 })
  await untilBlocked(bundle.sql, b.pid, repeat)
  await a.commit()

  expect(await repeat).toEqual(first)
})

it('asked again for a turn whose first try is rolled back, claims anew, with a lease as long as any', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  await claim(a, { ...one, turn: 7 })
  b.again = true

  const repeat = claim(b, { ...one, turn: 7 })
  await untilBlocked(bundle.sql, b.pid, repeat)
  await bundle.advance(60_000)
  await a.rollback()

  const [lease] = await repeat
  expect(lease).toMatchObject({ jobId: id, tries: 1 })
  // Not born expired: the time that it waited is not part of the lease.
  expect(await loseExpired(bundle.db)).toEqual([])
  expect(
    await bundle.sql(
      `select claimed_at <= fencepost.clock() as past, expires_at > fencepost.clock() as held from fencepost.leased`,
    ),
  ).toEqual([{ past: true, held: true }])
})

it('waits for no other turn and for no other worker', async () => {
  const bundle = await setup()
  const ids = [await bundle.add(), await bundle.add(), await bundle.add()]
  const [a, b] = [await Session.open(bundle), await Session.open(bundle)]
  await a.begin()
  await claim(a, { ...one, turn: 1 })
  b.again = true

  expect(await claim(b, { ...one, turn: 2 })).toMatchObject([{ jobId: ids[1] }])
  expect(await claim(b, { ...one, turn: 1, worker: 'w2' })).toMatchObject([{ jobId: ids[2] }])
  await a.commit()
})

it('asked again for a turn whose leases have all ended, claims anew', async () => {
  const bundle = await setup()
  await bundle.add()
  const next = await bundle.add()
  const session = await Session.open(bundle)
  const first = await claim(session, { ...one, turn: 1 })
  await finish(
    session,
    first.map((lease) => ({ ...lease, resultText: '1' })),
  )
  session.again = true

  expect(await claim(session, { ...one, turn: 1 })).toMatchObject([{ jobId: next }])
})

it('makes a fence that is not reused when a failover sets the sequence back', async () => {
  const { db, add, take, placesOf, sql } = await setup()
  const id = await add()
  const before = await take({ worker: 'old' })
  // The replica that takes over has not heard of the claim: the job is ready, and the sequence is behind.
  await release(db, [before], 'failover')
  await sql('delete from fencepost.attempt')
  await sql('update fencepost.ready set tries = 0, releases = 0')
  await sql(`select setval('fencepost.lease_seq', $1, false)`, [before.leaseId])
  const after = await take({ worker: 'new' })
  expect(after).toMatchObject({ jobId: id, leaseId: before.leaseId })

  expect(await finish(db, [{ ...before, resultText: '1' }])).toMatchObject([{ answer: 'stale' }])
  expect(await placesOf(id)).toEqual(['leased'])
})

it.each(isolations)(
  'in a caller’s transaction at %s, gives the job back untouched by a rollback',
  async (isolation) => {
    const bundle = await setup()
    const id = await bundle.add()
    const caller = await Session.open(bundle)
    await caller.begin(isolation)
    expect(await claim(bundle.db, one, caller.client)).toMatchObject([{ jobId: id, tries: 1 }])
    await caller.rollback()

    expect(await bundle.see(id)).toMatchObject({ place: 'ready', tries: 0, releases: 0 })
    await caller.begin(isolation)
    await claim(bundle.db, one, caller.client)
    expect(await caller.commit()).toBe('COMMIT')
    expect(await bundle.see(id)).toMatchObject({ place: 'leased', tries: 1 })
  },
)
