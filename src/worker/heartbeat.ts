import type { Events } from '../events.js'
import type { Fence } from '../job/places.js'
import type { Database } from '../store/database.js'
import { extend } from '../store/lease.js'
import { readLeaseNews, seeWorker } from '../store/worker.js'
import type { Execution } from './executor.js'

const beatMsMax = 300
const newsEveryMs = 1_000
const seenEveryMs = 10_000

export interface HeartbeatOptions {
  /** Connections of its own: what keeps the leases alive must not wait behind the handlers' work. */
  readonly db: Database
  readonly events: Events
  readonly worker: () => string
  readonly stopping: () => boolean
  readonly held: () => Iterable<Execution>
  /** Others took this worker for dead, or it slept past its leases: it goes on as a new one. */
  readonly onLost: () => Promise<void>
}

/**
 * Extends all leases of the worker that are due in one statement, when a third of their time has passed. A lease that is
 * gone aborts its handler; a cancel that was requested meanwhile is told here.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #timer: NodeJS.Timeout
  #beating: Promise<void> = Promise.resolve()
  #beatAtMs = performance.now()
  #seenAtMs = performance.now()
  #newsAtMs = 0
  #stopped = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#timer = this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#beating // guard: heartbeat.stop
  }

  #schedule(): NodeJS.Timeout {
    let shortest = beatMsMax * 3
    for (const { lease } of this.#options.held()) shortest = Math.min(shortest, lease.leaseMs)
    return setTimeout(() => {
      this.#beating = this.#beat()
    }, shortest / 3)
  }

  async #beat(): Promise<void> {
    const sleptMs = performance.now() - this.#beatAtMs
    try {
      const gone = await this.#extend()
      this.#beatAtMs = performance.now()
      await this.#show(gone.some(({ lease }) => sleptMs > lease.leaseMs)) // guard: heartbeat.slept
    } catch (error) {
      if (!this.#stopped) this.#options.events.emit('error', { during: 'the heartbeat', error })
    }
    if (!this.#stopped) this.#timer = this.#schedule() // guard: heartbeat.again
  }

  /** Answers those whose lease is gone, their handlers aborted. */
  async #extend(): Promise<Execution[]> {
    const { db } = this.#options
    const held = new Map<string, Execution>()
    for (const execution of this.#options.held()) held.set(key(execution.lease), execution)
    const nowMs = performance.now()
    const leases = [...held.values()]
    const isDue = ({ held: isHeld, validUntilMs, lease }: Execution) =>
      // guard: heartbeat.held
      // guard: heartbeat.early
      !isHeld && validUntilMs - nowMs < (lease.leaseMs * 2) / 3
    const due = leases.filter(isDue)
    const lost: Execution[] = []
    const abortLost = (execution: Execution) => {
      // guard: heartbeat.own_doing
      if (execution.leaving || execution.isSettling) return // by its own doing
      lost.push(execution)
      execution.abort('lease_lost')
    }
    for (const { answer, cancelRequested, ...fence } of await extend(
      db,
      due.map(({ lease }) => lease),
    )) {
      const execution = held.get(key(fence)) as Execution
      if (answer === 'extended') execution.validUntilMs = Math.floor(nowMs + execution.lease.leaseMs) // guard: heartbeat.asked
      if (answer === 'gone')
        abortLost(execution) // guard: heartbeat.gone
      else if (cancelRequested) execution.abort('cancelled') // guard: heartbeat.cancelled
    }
    if (nowMs - this.#newsAtMs < newsEveryMs) return lost
    this.#newsAtMs = nowMs
    const others = leases.filter((execution) => !isDue(execution)).map(({ lease }) => lease)
    for (const { gone, ...fence } of await readLeaseNews(db, others)) {
      const execution = held.get(key(fence)) as Execution
      if (gone)
        abortLost(execution) // guard: heartbeat.news_gone
      else execution.abort('cancelled') // guard: heartbeat.news_cancelled
    }
    return lost
  }

  async #show(sleptPastLease: boolean): Promise<void> {
    const { db, worker, stopping, onLost } = this.#options
    if (!sleptPastLease && performance.now() - this.#seenAtMs < seenEveryMs) return
    const known = !sleptPastLease && (await seeWorker(db, worker(), stopping()))
    if (!known && !stopping()) await onLost() // guard: heartbeat.known
    this.#seenAtMs = performance.now()
  }
}

function key({ jobId, leaseId }: Pick<Fence, 'jobId' | 'leaseId'>): string {
  return `${jobId}/${leaseId}`
}
