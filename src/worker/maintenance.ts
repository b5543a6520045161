import type { Events } from '../events.js'
import { markOverrun, promoteDue, yieldPaused } from '../store/control.js'
import type { Database } from '../store/database.js'
import { ringTimers } from '../store/runs.js'
import { reapExpired } from '../store/worker.js'

const everyMsMax = 500
/** Looking may take this share of the time, however many rows there are to look at: but it is never put off for longer. */
const shareMax = 0.05
const pauseMsMax = 5_000

export interface MaintenanceOptions {
  readonly db: Database
  readonly events: Events
  readonly pollMs: number
  /** After every round; `moved`: there is something new to claim. */
  readonly onRound: (moved: boolean) => void
  /** Runs of workflows may have something to do. */
  readonly onRing: () => void
}

/**
 * Promotes what is due, takes back leases that have run out, sweeps workers that have gone, marks slots that are held for
 * too long, tells runs of their timers. Every worker does it, and any number of them may at the same time: there is no leader. An idle round is a few
 * index lookups.
 */
export class Maintenance {
  readonly #options: MaintenanceOptions
  readonly #everyMs: number
  #timer: NodeJS.Timeout
  #round: Promise<void> = Promise.resolve()
  #tookMs = 0
  #stopped = false

  constructor(options: MaintenanceOptions) {
    this.#options = options
    this.#everyMs = Math.min(options.pollMs, everyMsMax)
    this.#timer = this.#schedule(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#round
  }

  get #pauseMs(): number {
    return Math.max(this.#everyMs, Math.min(this.#tookMs / shareMax, pauseMsMax))
  }

  #schedule(pauseMs = this.#pauseMs): NodeJS.Timeout {
    return setTimeout(() => {
      this.#round = this.#work()
    }, pauseMs)
  }

  async #work(): Promise<void> {
    const { db, events, onRound, onRing } = this.#options
    const begunAtMs = performance.now()
    try {
      const promoted = await promoteDue(db)
      for (const { jobId, place } of promoted) events.emit('promoted', { jobId, from: place as 'delayed' | 'parked' })
      const lost = await reapExpired(db, this.#pauseMs)
      for (const { jobId, task, queue, leaseId, worker, answer, outcome } of lost) {
        events.emit('lost', { jobId, task, queue, leaseId, worker, started: answer !== 'released', outcome })
      }
      const overrun = await markOverrun(db)
      for (const event of overrun) events.emit('overrun', event)
      const yielded = await yieldPaused(db)
      for (const jobId of yielded) events.emit('yielded', { jobId })
      await ringTimers(db)
      onRing()
      onRound(promoted.length + lost.length + overrun.length + yielded.length > 0)
      this.#tookMs = performance.now() - begunAtMs
    } catch (error) {
      if (!this.#stopped) events.emit('error', { during: 'maintenance', error })
    }
    // guard: maintenance.again

    if (!this.#stopped) this.#timer = this.#schedule()
  }
}
