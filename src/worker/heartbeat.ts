import type { Events } from '../events.js'
import type { Database } from '../store/database.js'
import { extend } from '../store/lease.js'
import type { Execution } from './executor.js'

const beatMsMax = 10_000

/**
 * Extends all leases of the worker in one statement, at a third of the shortest lease. A lease that is gone aborts its
 * handler; a cancel that was requested meanwhile is told here.
 */
export class Heartbeat {
  readonly #db: Database
  readonly #events: Events
  readonly #running: () => Execution[]
  #timer: NodeJS.Timeout
  #beating: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(db: Database, events: Events, running: () => Execution[]) {
    this.#db = db
    this.#events = events
    this.#running = running
    this.#timer = this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#beating
  }

  #schedule(): NodeJS.Timeout {
    const shortest = Math.min(beatMsMax * 3, ...this.#running().map(({ lease }) => lease.leaseMs))
    return setTimeout(
      () => {
        this.#beating = this.#beat()
      },
      Math.min(shortest / 3, 1_000),
    )
  }

  async #beat(): Promise<void> {
    const executions = new Map(this.#running().map((execution) => [execution.lease.leaseId, execution]))
    try {
      for (const answer of await extend(
        this.#db,
        [...executions.values()].map(({ lease }) => lease),
      )) {
        const execution = executions.get(answer.leaseId)
        if (answer.answer === 'gone') execution?.abort('lease_lost')
        else if (answer.cancelRequested) execution?.abort('cancelled')
      }
    } catch (error) {
      this.#events.emit('error', { during: 'the heartbeat', error })
    }
    if (!this.#stopped) this.#timer = this.#schedule()
  }
}
