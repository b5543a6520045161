import type { Events } from '../events.js'
import { promoteDue } from '../store/control.js'
import type { Database } from '../store/database.js'
import { loseExpired } from '../store/lease.js'

/** Promotes what is due and takes back leases that have run out. Safe from any number of workers: there is no leader. */
export class Maintenance {
  readonly #db: Database
  readonly #events: Events
  readonly #everyMs: number
  readonly #onWork: () => void
  #timer: NodeJS.Timeout
  #round: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(db: Database, events: Events, everyMs: number, onWork: () => void) {
    this.#db = db
    this.#events = events
    this.#everyMs = everyMs
    this.#onWork = onWork
    this.#timer = this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#round
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#round = this.#work()
    }, this.#everyMs)
  }

  async #work(): Promise<void> {
    try {
      const promoted = await promoteDue(this.#db)
      for (const { jobId, place } of promoted)
        this.#events.emit('promoted', { jobId, from: place as 'delayed' | 'parked' })
      const lost = await loseExpired(this.#db)
      for (const { jobId, leaseId, worker, answer, outcome } of lost) {
        this.#events.emit('lost', { jobId, leaseId, worker, started: answer !== 'released', outcome })
      }
      if (promoted.length + lost.length > 0) this.#onWork()
    } catch (error) {
      this.#events.emit('error', { during: 'maintenance', error })
    }
    if (!this.#stopped) this.#timer = this.#schedule()
  }
}
