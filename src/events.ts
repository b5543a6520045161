import { EventEmitter } from 'node:events'
import { FencepostError, shown } from './errors.js'
import type { Json } from './job/json.js'
import { SecretMask } from './job/secret-mask.js'
import type { Outcome } from './job/places.js'
import type { RunState } from './workflow/run.js'

/**
 * What this process did or saw. Every ending of a lease but a first-try success is also a row of `attempt`; the events
 * are for logs, metrics and alarms, not for decisions.
 */
export interface FencepostEvents {
  /** A job was stored. In a transaction of the caller’s it is told at once, before that transaction commits. */
  enqueued: { jobId: string; task: string; queue: string }
  /** A worker of this process got a lease. */
  claimed: { jobId: string; task: string; queue: string; worker: string; attempt: number }
  /** A job ended as succeeded. */
  finished: { jobId: string; task: string; attempt: number }
  /** A handler failed; `outcome` is null if the job will be tried again. */
  failed: { jobId: string; task: string; attempt: number; error: unknown; outcome: Outcome | null }
  /** The handler waits for a signal or a time; no worker is held. */
  parked: { jobId: string; task: string }
  /** A worker gave a job back, at no charge. */
  released: { jobId: string; task: string; reason: string }
  /** A lease ran out; its job goes on elsewhere unless it has an outcome. */
  lost: {
    jobId: string
    task: string
    queue: string
    leaseId: number
    worker: string
    started: boolean
    outcome: Outcome | null
  }
  /** A job ended as cancelled. */
  cancelled: { jobId: string; task: string; queue: string }
  /** A job found its gate full, and did not want to wait. */
  discarded: { jobId: string; task: string }
  /** A job has held a slot of this gate for longer than it may: it runs on, and is no longer counted. */
  overrun: { jobId: string; leaseId: number; key: string }
  /** A job of a paused queue or task gave its slots back, and waits for the end of the pause. */
  yielded: { jobId: string }
  /** Two tasks declare different limits for one gate: the lower one holds. */
  gate_disputed: { key: string; tasks: readonly [string, string]; limits: readonly [number, number] }
  /** A running job was asked to stop. */
  cancel_requested: { jobId: string }
  /** A job that had ended without success was put back, with fresh budgets. */
  retried: { jobId: string }
  /** The time of a delayed or parked job has come. */
  promoted: { jobId: string; from: 'delayed' | 'parked' }
  /** An attempt settled a lease that it no longer held. Nothing changed; what it said is kept in `attempt`. */
  stale: {
    jobId: string
    task: string
    queue: string
    leaseId: number
    said: 'succeeded' | 'failed' | 'released'
    outcome: Outcome | null
  }
  /** Two attempts of one job reported success: effects outside the database may have happened twice. */
  duplicate_success: { jobId: string; leaseId: number }
  /** A run of a workflow was advanced by this process; `state` is what it is now. */
  advanced: { runId: string; workflow: string; state: RunState }
  /** A worker of this process is known to the database and begins to claim. `queues` tells how many handlers each may have. */
  worker_started: { worker: string; queues: Readonly<Record<string, number>>; tasks: readonly string[] }
  /** A worker was told to stop, with that many handlers running. */
  worker_stopping: { worker: string; running: number }
  /** A worker has stopped: how many handlers came to an end meanwhile, and how many jobs were given back at no charge. */
  worker_stopped: { worker: string; finished: number; released: number }
  /** A worker slept past its leases, or was taken for dead; its handlers were told to stop, and it goes on as `now`. */
  worker_lost: { worker: string; now: string }
  /** Something in the background, or a listener, failed. What the background does is tried again. */
  error: { during: string; error: unknown }
}

export type EventName = keyof FencepostEvents

const known: Readonly<Record<EventName, true>> = {
  enqueued: true,
  claimed: true,
  finished: true,
  failed: true,
  parked: true,
  released: true,
  lost: true,
  cancelled: true,
  discarded: true,
  overrun: true,
  yielded: true,
  gate_disputed: true,
  cancel_requested: true,
  retried: true,
  promoted: true,
  stale: true,
  duplicate_success: true,
  advanced: true,
  worker_started: true,
  worker_stopping: true,
  worker_stopped: true,
  worker_lost: true,
  error: true,
}
export const eventNames = Object.keys(known) as readonly EventName[]

/** A listener that throws, or rejects, must not take the engine with it: its error becomes an `error` event. */
export class Events {
  readonly #emitter = new EventEmitter().setMaxListeners(0)
  readonly #hidden = new Set<readonly Json[]>()
  #mask: SecretMask | undefined

  /** From now on, and until the answer is called, these values are hidden by `masked`. */
  hide(secrets: readonly Json[]): () => void {
    if (secrets.length === 0) return () => {}
    const hidden = [...secrets] // the same list may be hidden twice
    this.#hidden.add(hidden)
    this.#mask = undefined
    return () => {
      if (this.#hidden.delete(hidden)) this.#mask = undefined
    }
  }

  /** What was thrown, as a log may show it. Listeners get it as it is. */
  masked(thrown: unknown): unknown {
    this.#mask ??= new SecretMask([...this.#hidden].flat())
    return this.#mask.thrown(thrown)
  }

  on<Name extends EventName>(name: Name, listener: (event: FencepostEvents[Name]) => void): () => void {
    if (!eventNames.includes(name)) {
      throw new FencepostError('FP_OPTION_INVALID', `there is no event ${shown(name)}`, {
        hint: `The events are ${eventNames.join(', ')}.`,
      })
    }
    if (typeof listener !== 'function') {
      throw new FencepostError(
        'FP_OPTION_INVALID',
        `the listener of ${name} must be a function, not ${shown(listener)}`,
      )
    }
    this.#emitter.on(name, listener)
    return () => this.#emitter.off(name, listener)
  }

  /** Whether anybody listens: what is told of every job need not be made for nobody. */
  hears(name: EventName): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  emit<Name extends EventName>(name: Name, event: FencepostEvents[Name]): void {
    if (!this.hears(name)) return
    const onError = (error: unknown) => {
      if (name !== 'error') this.emit('error', { during: `a listener of ${name}`, error })
    }
    for (const listener of this.#emitter.listeners(name)) {
      try {
        const returned: unknown = listener(event)
        if (returned instanceof Promise) returned.catch(onError)
      } catch (error) {
        onError(error)
      }
    }
  }
}
