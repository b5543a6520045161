import { EventEmitter } from 'node:events'
import type { Outcome } from './job/places.js'

/**
 * What this process did or saw. Every ending of a lease but a first-try success is also a row of `attempt`; the events
 * are for logs, metrics and alarms, not for decisions.
 */
export interface FencepostEvents {
  enqueued: { jobId: string; task: string; queue: string }
  claimed: { jobId: string; task: string; worker: string; attempt: number }
  finished: { jobId: string; task: string; attempt: number }
  /** The handler failed; `outcome` is null if the job will be tried again. */
  failed: { jobId: string; task: string; attempt: number; error: unknown; outcome: Outcome | null }
  released: { jobId: string; task: string; reason: string }
  /** A lease ran out; its job goes on elsewhere unless it has an outcome. */
  lost: { jobId: string; leaseId: number; worker: string; started: boolean; outcome: Outcome | null }
  cancelled: { jobId: string }
  cancel_requested: { jobId: string }
  retried: { jobId: string }
  promoted: { jobId: string; from: 'delayed' | 'parked' }
  /** An attempt settled a lease that it no longer held. Nothing changed; what it said is kept in `attempt`. */
  stale: { jobId: string; leaseId: number; said: 'succeeded' | 'failed' | 'released'; outcome: Outcome | null }
  /** Two attempts of one job reported success: effects outside the database may have happened twice. */
  duplicate_success: { jobId: string; leaseId: number }
  /** Something in the background failed and will be tried again. */
  error: { during: string; error: unknown }
}

export type EventName = keyof FencepostEvents

/** A listener that throws must not take the engine with it: its error becomes an `error` event. */
export class Events {
  readonly #emitter = new EventEmitter()

  on<Name extends EventName>(name: Name, listener: (event: FencepostEvents[Name]) => void): () => void {
    this.#emitter.on(name, listener)
    return () => this.#emitter.off(name, listener)
  }

  emit<Name extends EventName>(name: Name, event: FencepostEvents[Name]): void {
    for (const listener of this.#emitter.listeners(name)) {
      try {
        listener(event)
      } catch (error) {
        if (name !== 'error') this.emit('error', { during: `a listener of ${name}`, error })
      }
    }
  }
}
