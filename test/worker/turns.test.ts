import { expect, it, onTestFinished } from 'vitest'
import { Events } from '../../src/events.js'
import { cancel } from '../../src/store/control.js'
import { Database } from '../../src/store/database.js'
import type { TurnLease } from '../../src/store/turn.js'
import { finishInTurn } from '../../src/lab/finish-in-turn.js'
import type { Claim, Claimed } from '../../src/worker/turns.js'
import { untilBlockedBy } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'
import { setupExecution, turnsOn } from './setup.js'

it('repeats a turn whose reply was lost under the name it had, and gets the leases of its first try', async () => {
  const { url, add, sql } = await setup()
  const id = await add()
  const proxy = await FaultProxy.start(url)
  const db = new Database({ url: proxy.url, retryMs: 0 }) // each try is one of the turn's own
  onTestFinished(() => db.close())
  const events = new Events()
  let worker = 'w1'
  events.on('error', () => {
    worker = 'w2' // the worker was found dead meanwhile, and goes on as a new one
  })
  const asked: Claim[] = [{ queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1, suspect: false, news: 0 }]
  const lost = proxy.loseReplyWith(id)

  const leases = await new Promise<readonly TurnLease[]>((resolve) => {
    const receive = (_: Claim, answer: Claimed) => resolve(answer.leases)
    turnsOn(db, { events, worker: () => worker, ask: () => asked.pop(), receive }).look()
  })

  await lost
  expect(worker).toBe('w2')
  expect(leases).toMatchObject([{ jobId: id, tries: 1 }])
  expect(await sql('select job_id, worker from fencepost.leased')).toEqual([{ job_id: id, worker: 'w1' }])
})

it('says no more in one turn than a message may hold', async () => {
  const { db, add, take, sql } = await setup()
  const turns = turnsOn(db)
  const resultText = JSON.stringify('x'.repeat(9 * 1_048_576)) // two of them are more than 16 MiB
  const leases = []
  for (let n = 0; n < 3; n++) {
    await add()
    leases.push(await take())
  }

  await Promise.all(leases.map((lease) => finishInTurn(turns, { ...lease, resultText })))

  expect(turns.count).toBe(3)
  expect(await sql('select count(*)::int from fencepost.finished')).toEqual([{ count: 3 }])
})

it('comes to rest when all that was said is answered, and not before', async () => {
  const bundle = await setup()
  await bundle.add()
  const lease = await bundle.take()
  const turns = turnsOn(bundle.db)
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')
  const said = finishInTurn(turns, { ...lease, resultText: '1' })
  await untilBlockedBy(bundle.sql, holder)

  let rests = false
  const rest = turns.rest().then(() => {
    rests = true
  })
  await bundle.sql('select 1') // longer than it takes to see that nothing is left to be said
  expect(rests).toBe(false)

  await holder.commit()
  await Promise.all([rest, said])
})

/** Turns that are to mark one lease as started, and what its handler was told by the time that is answered. */
async function marked(
  prepare: (bundle: Awaited<ReturnType<typeof setupExecution>>) => Promise<unknown>,
  leaving = false,
) {
  const bundle = await setupExecution()
  await prepare(bundle)
  const told: string[] = []
  const unmarked = [
    { lease: bundle.execution.lease, leaving, isSettling: false, abort: (reason: string) => void told.push(reason) },
  ]
  const turns = turnsOn(bundle.db, { unmarked: () => unmarked.splice(0) })
  await turns.rest()
  await turns.rest() // what was answered has been heard
  return told
}

it('tells a handler that has begun already that its lease is gone', async () => {
  expect(await marked(({ lose }) => lose())).toEqual(['lease_lost'])
})

it('does not tell it so if the handler has ended its lease itself', async () => {
  expect(await marked(({ lose }) => lose(), true)).toEqual([])
})

it('tells a handler that has begun already that its job was cancelled', async () => {
  expect(await marked(({ db, id }) => cancel(db, [id], null))).toEqual(['cancelled'])
})

it('gives back the room that it was promised when a claim has failed', async () => {
  const { db, add, sql } = await setup()
  await add()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger refuse before insert on fencepost.leased for each row execute function refuse()`)
  const claim = { queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1, suspect: false, news: 0 }
  const asked: Claim[] = [claim]

  const answered = await new Promise<[readonly TurnLease[], Claim]>((resolve) => {
    turnsOn(db, { ask: () => asked.pop(), receive: (of, { leases }) => resolve([leases, of]) }).look()
  })

  expect(answered).toEqual([[], claim])
})

it('answers what is said after the end', async () => {
  const { url, add, take } = await setup()
  await add()
  const lease = await take()
  const db = new Database({ url })
  await db.close()

  await expect(finishInTurn(turnsOn(db), { ...lease, resultText: 'null' })).rejects.toMatchObject({ code: 'FP_CLOSED' })
})

it('asks again over a new connection when no answer comes', async () => {
  const { url, add, take, see } = await setup()
  const id = await add()
  const lease = await take()
  const proxy = await FaultProxy.start(url)
  const db = new Database({ url: proxy.url, statementMsMax: 500, retryMs: 60_000 })
  onTestFinished(() => db.close())
  void proxy.holdReplyWith(id)

  await turnsOn(db).fail({ ...lease, errorText: '{}', delayMs: 0, final: true })

  expect(await see(id)).toMatchObject({ outcome: 'failed', failures: 1 })
})

it('rests only when all that was said has been answered', async () => {
  const bundle = await setup()
  await bundle.add()
  const lease = await bundle.take()
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')
  const turns = turnsOn(bundle.db)
  const answers: string[] = []
  const finished = finishInTurn(turns, { ...lease, resultText: 'null' }).then(() => answers.push('finished'))
  await untilBlockedBy(bundle.sql, holder)

  const rested = turns.rest().then(() => answers.push('rested'))
  await bundle.sql('select 1')
  await holder.commit()
  await Promise.all([finished, rested])

  expect(answers).toEqual(['finished', 'rested'])
})
