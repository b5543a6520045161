import { expect, it, onTestFinished } from 'vitest'
import { finishInTurn } from '../../src/lab/finish-in-turn.js'
import { Database } from '../../src/store/database.js'
import { carriedOrAlone } from '../../src/store/enqueue.js'
import { Carrier } from '../../src/worker/carrier.js'
import { Lanes } from '../../src/worker/lanes.js'
import type { Claim, Claimed } from '../../src/worker/turns.js'
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
  const tasks = new Map([['test', {}]])
  await Promise.all([db.read('select 1'), db.read('select 1')]) // two connections
  return {
    ...bundle,
    proxy,
    turnDb: db,
    lanes,
    looked,
    state,
    turns,
    carrier: new Carrier({ turns, lanes, tasks, mayClaim: () => state.mayClaim }),
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
  const { carrier, received, sql } = await setupCarrier()
  const jobs = [aJob(), aJob()]
  const claimed = received()

  await carrier.carry(jobs)

  expect(await claimed).toMatchObject(jobs.map(({ id }) => ({ jobId: id, started: true, tries: 1 })))
  expect(
    await sql(
      `select j.xmin::text = l.xmin::text as one from fencepost.job j join fencepost.leased l on l.job_id = j.id`,
    ),
  ).toEqual([{ one: true }, { one: true }])
})

it('finds the leases of a turn whose reply was lost, and its jobs are told as enqueued', async () => {
  const { carrier, db, proxy, received, sql } = await setupCarrier()
  const job = aJob()
  const [claimed, lost] = [received(), proxy.loseReplyWith(job.id)]

  const carried = carrier.carry([job]) as Promise<void>
  const answers = await carriedOrAlone(db, [job], carried)

  await lost
  await expect(carried).rejects.toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })
  expect(answers).toEqual(new Map([[job.id, 'enqueued']]))
  expect(await claimed).toMatchObject([{ jobId: job.id, tries: 1 }])
  expect(await sql('select job_id from fencepost.leased')).toEqual([{ job_id: job.id }])
  expect(await sql('select id from fencepost.job')).toEqual([{ id: job.id }])
  expect(carrier.hasLookedFor(job.id)).toBe(false)
})

it('leaves a job whose turn never arrived to a plain enqueue', async () => {
  const { carrier, db, proxy, received, placesOf } = await setupCarrier()
  const job = aJob()
  const [claimed, lost] = [received(), proxy.loseRequest(job.id)]

  const answers = await carriedOrAlone(db, [job], carrier.carry([job]) as Promise<void>)

  await lost
  expect(answers).toEqual(new Map([[job.id, 'enqueued']]))
  const found = await claimed // the turn is repeated beside that, and may have come before or after it
  expect(await placesOf(job.id)).toEqual([found.length === 0 ? 'ready' : 'leased'])
})

it('hands a refused job back at once, and the room that was promised for it', async () => {
  const { carrier, lanes, received, turns, sql } = await setupCarrier()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception using errcode = '23514', message = 'refused'; end $$;
    create trigger refuse before insert on fencepost.job for each row execute function refuse()`)
  const claimed = received()

  await expect(carrier.carry([aJob()])).rejects.toMatchObject({ cause: { code: '23514' } })

  await turns.rest()
  expect(lanes.isIdle).toBe(true)
  expect(await claimed).toEqual([])
  expect(await sql('select 1 from fencepost.job')).toEqual([])
})

it('hands a job back whose claim is refused', async () => {
  const { carrier, db, received, sql, placesOf } = await setupCarrier()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no leases today'; end $$;
    create trigger refuse before insert on fencepost.leased for each row execute function refuse()`)
  const job = aJob()
  const claimed = received()

  const answers = await carriedOrAlone(db, [job], carrier.carry([job]) as Promise<void>)

  expect(answers).toEqual(new Map([[job.id, 'enqueued']]))
  expect(await claimed).toEqual([])
  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('is repeated by a plain enqueue, which waits for it, when no answer has come in time', async () => {
  const { carrier, db, proxy, received, sql, holdInsertsOf } = await setupCarrier()
  const holder = await holdInsertsOf('leased')
  const job = aJob()
  const claimed = received()
  const answer = carriedOrAlone(db, [job], carrier.carry([job]) as Promise<void>)
  await untilBlockedBy(sql, holder)

  proxy.cutAll() // the server goes on with what it has begun
  let told = false
  void answer.then(() => (told = true))
  await sql('select 1')
  expect(told).toBe(false)
  await holder.commit()

  expect(await answer).toEqual(new Map([[job.id, 'enqueued']]))
  expect(await claimed).toMatchObject([{ jobId: job.id, tries: 1 }])
  expect(await sql('select job_id from fencepost.leased')).toEqual([{ job_id: job.id }])
})

it('carries only what its worker may claim', async () => {
  const { carrier, state } = await setupCarrier()
  state.mayClaim = false // it stops, or has a suspect
  expect(carrier.carry([aJob()])).toBeUndefined()
})

it('leaves a job alone whose task its worker does not know', async () => {
  const { carrier } = await setupCarrier()
  expect(carrier.carry([aJob({ task: 'another' })])).toBeUndefined()
})

it('leaves a job alone whose queue its worker does not serve', async () => {
  const { carrier } = await setupCarrier()
  expect(carrier.carry([aJob({ queue: 'another' })])).toBeUndefined()
})

it('leaves jobs alone that are not plain, or not alike', async () => {
  const { carrier } = await setupCarrier()
  for (const jobs of [[aJob({ delayMs: 1 })], [aJob({ gatesText: '[]' })], [aJob(), aJob({ priority: 1 })]])
    expect(carrier.carry(jobs)).toBeUndefined()
})

it('leaves jobs alone that have no free handler each', async () => {
  const { carrier, lanes } = await setupCarrier()
  const jobs = Array.from({ length: 5 }, () => aJob())
  expect(carrier.carry(jobs)).toBeUndefined()

  expect(lanes.claimFor('default', 3)).toBeDefined() // promised to a turn that is on its way
  expect(carrier.carry(jobs.slice(0, 2))).toBeUndefined()
  await carrier.carry(jobs.slice(0, 1))
})

it('leaves jobs alone that would stand behind others', async () => {
  const { carrier, looked } = await setupCarrier()
  const lease = { queue: 'default' } as Claimed['leases'][number]
  looked([lease, lease]) // as many as were asked for: there may be more

  expect(carrier.carry([aJob()])).toBeUndefined()
})

it('does not make a job wait for a connection', async () => {
  const { carrier, proxy, sql } = await setupCarrier()
  proxy.cutAll()
  await sql('select 1') // longer than it takes to hear of that

  expect(carrier.carry([aJob()])).toBeUndefined()
})

it('leaves a turn for what is to be said', async () => {
  const { carrier, turns, add, take, sql, url, connect } = await setupCarrier()
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
  expect(carrier.carry([aJob()])).toBeUndefined()

  await holder.commit()
  await Promise.all(said)
})

it('takes no third turn', async () => {
  const { carrier, turnDb, turns, sql } = await setupCarrier()
  const carried = [carrier.carry([aJob()]), carrier.carry([aJob()])]
  expect(carried).not.toContain(undefined)
  expect(turnDb.hasIdleConnection).toBe(true) // none of them has been sent yet

  expect(carrier.carry([aJob({ queue: 'mail' })])).toBeUndefined()

  await Promise.all([...(carried as Promise<void>[]), turns.rest()])
  await carrier.carry([aJob({ queue: 'mail' })])
  expect(await sql('select 1 from fencepost.leased')).toHaveLength(3)
})

it('tells once that it has looked for a job', async () => {
  const { carrier } = await setupCarrier()
  const job = aJob()
  await carrier.carry([job])

  expect([carrier.hasLookedFor(job.id), carrier.hasLookedFor(job.id)]).toEqual([true, false])
})
