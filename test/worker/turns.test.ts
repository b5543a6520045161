import { expect, it, onTestFinished } from 'vitest'
import { Events } from '../../src/events.js'
import { Database } from '../../src/store/database.js'
import type { TurnLease } from '../../src/store/turn.js'
import { type Claim, Turns, type TurnsOptions } from '../../src/worker/turns.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { setup } from '../harness/setup.js'

function turnsOn(db: Database, options: Partial<TurnsOptions> = {}): Turns {
  const quiet = { ask: () => undefined, unmarked: () => [], receive: () => {}, onCalled: () => {} }
  return new Turns({ db, events: new Events(), worker: () => 'w1', tasks: ['test'], ...quiet, ...options })
}

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

  const leases = await new Promise<readonly TurnLease[]>((receive) => {
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

  await Promise.all(leases.map((lease) => turns.finish({ ...lease, resultText })))

  expect(turns.count).toBe(3)
  expect(await sql('select count(*)::int from fencepost.finished')).toEqual([{ count: 3 }])
})
