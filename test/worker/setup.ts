import { once } from 'node:events'
import { EventEmitter } from 'node:events'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { onTestFinished } from 'vitest'
import { Events } from '../../src/events.js'
import {
  type EventName,
  type Fencepost,
  type FencepostEvents,
  fencepost,
  type JobContext,
  type RetryOptions,
  task,
} from '../../src/index.js'
import { Database } from '../../src/store/database.js'
import type { ClaimedLease } from '../../src/store/lease.js'
import { Deadlines } from '../../src/worker/deadlines.js'
import { Execution } from '../../src/worker/executor.js'
import { Turns, type TurnsOptions } from '../../src/worker/turns.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { setup } from '../harness/setup.js'

/** Takes anything. */
export const anything: StandardSchemaV1<unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

/** A client on a database of the test's own, and words for waiting. */
export async function setupWorker() {
  const bundle = await setup()
  const client = async (): Promise<Fencepost> => {
    const fp = await fencepost({ database: bundle.url, migrate: false })
    onTestFinished(() => fp.close())
    return fp
  }
  return {
    ...bundle,
    fp: await client(),
    client,
    /** Lets every lease that is held now run out, and takes it back, before any heartbeat can come between. */
    loseAll: () =>
      bundle.sql(
        `do $$ begin update fencepost.lab_clock set offset_ms = offset_ms + 60000; perform fencepost.lose(); end $$`,
      ),
  }
}

/** The next event of that name. */
export function next<Name extends EventName>(fp: Fencepost, name: Name): Promise<FencepostEvents[Name]> {
  return new Promise((resolve) => {
    const stop = fp.on(name, (event) => {
      stop()
      resolve(event)
    })
  })
}

/** Turns that claim nothing by themselves. */
export function turnsOn(db: Database, options: Partial<TurnsOptions> = {}): Turns {
  const quiet = { ask: () => undefined, unmarked: () => [], receive: () => {}, onCalled: () => {} }
  return new Turns({ db, events: new Events(), worker: () => 'w1', tasks: ['test'], ...quiet, ...options })
}

interface Circumstances {
  readonly timeout?: number
  readonly retry?: RetryOptions
  readonly lease?: Partial<ClaimedLease>
  readonly sentAtMs?: number
}

/** One lease and its execution, whose words go to the database through a proxy. */
export async function setupExecution(run: (job: JobContext) => unknown = () => {}, circumstances: Circumstances = {}) {
  const bundle = await setup()
  const { url, db, add, take } = bundle
  const proxy = await FaultProxy.start(url)
  const turnDb = new Database({ url: proxy.url })
  onTestFinished(() => turnDb.close())
  const events = new Events()
  const seen: (keyof FencepostEvents)[] = []
  for (const name of ['finished', 'failed', 'released', 'stale'] as const) events.on(name, () => seen.push(name))
  const { timeout = 60_000, retry = { limit: 3 }, sentAtMs = performance.now() } = circumstances
  const definition = task('test', { input: anything, timeout, retry, run: (_, job) => run(job) })
  const id = await add()
  const lease = { ...(await take()), ...circumstances.lease }
  const turns = turnsOn(turnDb)
  const executions: Execution[] = []
  const deadlines = new Deadlines(() => executions)
  onTestFinished(() => deadlines.stop())
  const work = { db, events, turns, deadlines, payloadBytesMax: 1_000 }
  const executionOf = (one: ClaimedLease) => {
    const execution = new Execution(work, definition, { ...one, started: true, leftMs: 30_000 }, sentAtMs)
    executions.push(execution)
    return execution
  }
  return {
    ...bundle,
    proxy,
    id,
    events,
    seen,
    turns,
    execution: executionOf(lease),
    /** Another job's. */
    async another() {
      await add()
      return executionOf(await take())
    },
    lose: () =>
      bundle.sql(`do $$ begin update fencepost.lab_clock set offset_ms = offset_ms + 60000;
        perform fencepost.lose(); end $$`),
  }
}

/** A door that a handler waits at, and a bell that tells that it has come there. */
export function door() {
  const events = new EventEmitter()
  let isOpen = false
  return {
    pass: async () => {
      events.emit('reached')
      if (!isOpen) await once(events, 'open')
    },
    reached: () => once(events, 'reached'),
    open: () => {
      isOpen = true
      events.emit('open')
    },
  }
}
