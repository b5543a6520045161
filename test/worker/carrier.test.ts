import { expect, it, onTestFinished } from 'vitest'
import { finishInTurn } from '../../src/lab/finish-in-turn.js'
import { Database } from '../../src/store/database.js'
import { enqueueAfter, type NewJob } from '../../src/store/enqueue.js'
import { Carrier } from '../../src/worker/carrier.js'
import { Lanes } from '../../src/worker/lanes.js'
import type { Alone, Claim, Claimed } from '../../src/worker/turns.js'
import { untilBlockedBy } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'
import { turnsOn } from './setup.js'

/** What a worker carries with, and nothing else of it: it looks for nothing by itself. Its last look has found nothing. */
async function setupCarrier() {
  const bundle = await setup()
  const proxy = await FaultProxy.start(bundle.url)
  const db = new Database({ url: proxy.url, poolSize: 2 })
  onTestFinished(() => db.close())
  const lanes = new Lanes(8, { default: 4, mail: 4 })
  const looked = (found: Claimed['leases'] = []) =>
    lanes.answered(lanes.claim(true, false) as Claim, found, performance.now())
  looked()
  const state = { mayClaim: true }
  let hear: (leases: Claimed['leases']) => void = () => {}
  const turns = turnsOn(db, {
    receive: (claim, { leases, sentAtMs }) => {
      lanes.answered(claim, leases, sentAtMs)
      hear(leases)
    },
  })
  const carrier = new Carrier({ turns, lanes, tasks: new Map([['test', {}]]), mayClaim: () => state.mayClaim })
  await Promise.all([db.read('select 1'), db.read('select 1')]) // two connections
  return {
    ...bundle,
    proxy,
    turnDb: db,
    lanes,
    looked,
    state,
    turns,
    carrier,
    carry: (jobs: readonly NewJob[], alone: Alone = (failed) => enqueueAfter(bundle.db, jobs, failed)) =>
      carrier.carry(jobs, alone),
    /** What the next claim brings. */
    received: () =>
      new Promise<Claimed['leases']>((resolve) => {
        hear = resolve
      }),
    /** All that is done here goes on behind this session's back, when it commits. */
    async holdInsertsOf(table: string) {
      await bundle.sql(`create function wait() returns trigger language plpgsql as $$ begin
          perform pg_advisory_xact_lock(1); return new; end $$;
        create trigger wait before insert on fencepost.${table} for each row execute function wait()`)
      const holder = await Session.open(bundle)
      await holder.begin()
      await holder.query('select pg_advisory_xact_lock(1)')
      return holder
    },
  }
}

it('stores jobs and claims them in one transaction', async () => {
  const { carry, received, sql } = await setupCarrier()
  const jobs = [aJob(), aJob()]
  const claimed = received()

  await carry(jobs)

  expect(await claimed).toMatchObject(jobs.map(({ id }) => ({ jobId: id, started: true, tries: 1 })))
  expect(
    await sql(
      `select j.xmin::text = l.xmin::text as one from fencepost.job j join fencepost.leased l on l.job_id = j.id`,
    ),
  ).toEqual([{ one: true }, { one: true }])
})

it('finds the leases of a turn whose reply was lost, and stores its jobs once', async () => {
  const { carry, carrier, proxy, received, sql } = await setupCarrier()
  const job = aJob()
  const [claimed, lost] = [received(), proxy.loseReplyWith(job.id)]

  await carry([job])

  await lost
  expect(await claimed).toMatchObject([{ jobId: job.id, tries: 1 }])
  expect(await sql('select job_id from fencepost.leased')).toEqual([{ job_id: job.id }])
  expect(await sql('select id from fencepost.job')).toEqual([{ id: job.id }])
  expect(carrier.hasLookedFor(job.id)).toBe(false)
})

it('looks for the leases of such a turn when its jobs are stored, and not before: it may have yet to arrive', async () => {
  const { carry, db, proxy, turnDb, received } = await setupCarrier()
  const job = aJob()
  const lost = proxy.loseReplyWith(job.id)
  let [heard, waits] = [false, false]
  const claimed = received().finally(() => (heard = true))

  await carry([job], async (failed) => {
    await new Promise(setImmediate)
    waits = turnDb.hasIdleConnection && !heard // of two connections one is cut, and the other has nothing to do
    await enqueueAfter(db, [job], failed)
  })

  await lost
  expect(waits).toBe(true)
  expect(await claimed).toMatchObject([{ jobId: job.id, tries: 1 }])
})

it('leaves a job whose turn never arrived to a plain enqueue', async () => {
  const { carry, proxy, received, placesOf } = await setupCarrier()
  const job = aJob({ payloadText: '"never arrives"' })
  const [claimed, lost] = [received(), proxy.loseRequest('never arrives')]

  await carry([job])

  await lost
  const found = await claimed // the turn is repeated beside that, and may have come before or after it
  expect(await placesOf(job.id)).toEqual([found.length === 0 ? 'ready' : 'leased'])
})

it('hands a refused job back at once, and the room that was promised for it', async () => {
  const { carry, lanes, received, turns, sql } = await setupCarrier()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception using errcode = '23514', message = 'refused'; end $$;
    create trigger refuse before insert on fencepost.job for each row execute function refuse()`)
  const claimed = received()

  await expect(carry([aJob()])).rejects.toMatchObject({ cause: { code: '23514' } })

  await turns.rest()
  expect(lanes.isIdle).toBe(true)
  expect(await claimed).toEqual([])
  expect(await sql('select 1 from fencepost.job')).toEqual([])
})

it('hands a job back whose claim is refused', async () => {
  const { carry, received, sql, placesOf } = await setupCarrier()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no leases today'; end $$;
    create trigger refuse before insert on fencepost.leased for each row execute function refuse()`)
  const job = aJob()
  const claimed = received()

  await carry([job])

  expect(await claimed).toEqual([])
  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('is repeated by a plain enqueue, which waits for it, when no answer has come in time', async () => {
  const { carry, proxy, received, sql, holdInsertsOf } = await setupCarrier()
  const holder = await holdInsertsOf('leased')
  const job = aJob()
  const claimed = received()
  const answer = carry([job])
  await untilBlockedBy(sql, holder)

  proxy.cutAll() // the server goes on with what it has begun
  let told = false
  void answer?.then(() => (told = true))
  await sql('select 1')
  expect(told).toBe(false)
  await holder.commit()

  await answer
  expect(await claimed).toMatchObject([{ jobId: job.id, tries: 1 }])
  expect(await sql('select job_id from fencepost.leased')).toEqual([{ job_id: job.id }])
})

it('carries only what its worker may claim', async () => {
  const { carry, state } = await setupCarrier()
  state.mayClaim = false // it stops, or has a suspect
  expect(carry([aJob()])).toBeUndefined()
})

it('leaves a job alone whose task its worker does not know', async () => {
  const { carry } = await setupCarrier()
  expect(carry([aJob({ task: 'another' })])).toBeUndefined()
})

it('leaves a job alone whose queue its worker does not serve', async () => {
  const { carry } = await setupCarrier()
  expect(carry([aJob({ queue: 'another' })])).toBeUndefined()
})

it('leaves jobs alone that are not plain, or not alike', async () => {
  const { carry } = await setupCarrier()
  for (const jobs of [[aJob({ delayMs: 1 })], [aJob({ gatesText: '[]' })], [aJob(), aJob({ priority: 1 })]])
    expect(carry(jobs)).toBeUndefined()
})

it('leaves jobs alone that have no free handler each', async () => {
  const { carry, lanes } = await setupCarrier()
  const jobs = Array.from({ length: 5 }, () => aJob())
  expect(carry(jobs)).toBeUndefined()

  expect(lanes.claimFor('default', 3)).toBeDefined() // promised to a turn that is on its way
  expect(carry(jobs.slice(0, 2))).toBeUndefined()
  await carry(jobs.slice(0, 1))
})

it('leaves jobs alone that would stand behind others', async () => {
  const { carry, looked } = await setupCarrier()
  const lease = { queue: 'default' } as Claimed['leases'][number]
  looked([lease, lease]) // as many as were asked for: there may be more

  expect(carry([aJob()])).toBeUndefined()
})

it('does not make a job wait for a connection', async () => {
  const { carry, proxy, sql } = await setupCarrier()
  proxy.cutAll()
  await sql('select 1') // longer than it takes to hear of that

  expect(carry([aJob()])).toBeUndefined()
})

it('leaves a turn for what is to be said', async () => {
  const { carry, turns, add, take, sql, url, connect } = await setupCarrier()
  await add()
  await add()
  const [first, second] = [await take(), await take()]
  const holder = await Session.open({ url, connect })
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')
  const said = [finishInTurn(turns, { ...first, resultText: 'null' })]
  await untilBlockedBy(sql, holder)
  expect(turns.isFree).toBe(true)

  said.push(finishInTurn(turns, { ...second, resultText: 'null' }))
  expect(carry([aJob()])).toBeUndefined()

  await holder.commit()
  await Promise.all(said)
})

it('takes no third turn', async () => {
  const { carry, turnDb, turns, sql } = await setupCarrier()
  const carried = [carry([aJob()]), carry([aJob()])]
  expect(carried).not.toContain(undefined)
  expect(turnDb.hasIdleConnection).toBe(true) // none of them has been sent yet

  expect(carry([aJob({ queue: 'mail' })])).toBeUndefined()

  await Promise.all([...(carried as Promise<void>[]), turns.rest()])
  await carry([aJob({ queue: 'mail' })])
  expect(await sql('select 1 from fencepost.leased')).toHaveLength(3)
})

it('tells once that it has looked for a job', async () => {
  const { carry, carrier } = await setupCarrier()
  const job = aJob()
  await carry([job])

  expect([carrier.hasLookedFor(job.id), carrier.hasLookedFor(job.id)]).toEqual([true, false])
})
