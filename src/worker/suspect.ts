import type { Execution } from './executor.js'
import type { Lanes } from './lanes.js'
import type { Claim, Turns } from './turns.js'

/** How long a suspect waits for its neighbours to end, and how long it is left to others if they do not. */
const waitMs = 10_000
/** So often it is put off; then it is waited for, or it would never run. */
const putOffMax = 2

export interface SuspectOptions {
  readonly turns: Turns
  readonly lanes: Lanes
  readonly stopping: () => boolean
  /** Runs it; its slot is taken. */
  readonly run: (execution: Execution) => void
  readonly giveBack: (execution: Execution, reason: 'shutdown' | 'cancelled' | 'no_room') => void
  /** Its lease is gone: forget it. */
  readonly forget: (execution: Execution) => void
  readonly look: () => void
}

/**
 * A job whose worker died under it may be what killed it: it runs without neighbours. The worker claims one at a time,
 * then nothing more; when all its handlers have ended, the suspect is marked as started and runs alone.
 */
export class Suspect {
  readonly #options: SuspectOptions
  #execution: Execution | undefined
  #starts = false
  /** A turn on its way may bring one; a second must not. */
  #asked = false
  /** A worker that is never idle looks for one now and then. */
  #due = true
  #timer: NodeJS.Timeout | undefined
  #putOff = 0
  #notBeforeMs = 0

  constructor(options: SuspectOptions) {
    this.#options = options
  }

  /** Then nothing else is claimed. */
  get isHere(): boolean {
    return this.#execution !== undefined
  }

  is(execution: Execution): boolean {
    return execution === this.#execution
  }

  /** Whether the next claim may bring one. */
  get isWanted(): boolean {
    // guard: suspect.asked
    return !this.#asked && (this.#due || this.#options.lanes.isEmpty) && performance.now() >= this.#notBeforeMs
  }

  lookNowAndThen(): void {
    this.#due = true
  }

  asked(claim: Claim | undefined): void {
    if (!claim?.suspect) return
    this.#asked = true
    this.#due = false
  }

  answered(claim: Claim): void {
    if (claim.suspect) this.#asked = false
  }

  accept(execution: Execution): void {
    const { giveBack, look } = this.#options
    if (this.#execution) return giveBack(execution, 'no_room') // guard: suspect.one
    this.#execution = execution
    if (this.#putOff >= putOffMax) return // guard: suspect.put_off_max
    // Long handlers must not stop the worker for a suspect's sake again and again: others may have room for it.
    this.#timer = setTimeout(() => {
      // guard: suspect.put_off
      if (!this.is(execution) || this.#starts || execution.hasBegun) return
      this.#execution = undefined
      this.#putOff++
      this.#notBeforeMs = performance.now() + waitMs
      giveBack(execution, 'no_room')
      look()
    }, waitMs)
  }

  runWhenAlone(): void {
    const { turns, lanes, stopping, run, giveBack, forget, look } = this.#options
    const execution = this.#execution
    if (!execution || this.#starts || !lanes.isIdle || stopping()) return // guard: suspect.alone
    this.#starts = true // guard: suspect.starts
    clearTimeout(this.#timer)
    void turns
      .start(execution.lease)
      .then(({ answer, cancelRequested }) => {
        if (answer === 'stale')
          forget(execution) // guard: suspect.stale
        else if (cancelRequested)
          giveBack(execution, 'cancelled') // guard: suspect.cancelled
        else if (stopping())
          giveBack(execution, 'shutdown') // guard: suspect.stopping
        else if (lanes.enter(execution)) {
          this.#putOff = 0
          return run(execution)
        }
        this.ended(execution)
        look()
      })
      .catch(() => {
        forget(execution)
        this.ended(execution)
      })
      .finally(() => {
        this.#starts = false
      })
  }

  ended(execution: Execution): void {
    if (this.is(execution)) this.#execution = undefined
  }

  /** The worker stops; answers what has not begun. */
  stop(): Execution[] {
    clearTimeout(this.#timer)
    return this.#execution && !this.#execution.hasBegun ? [this.#execution] : []
  }
}
