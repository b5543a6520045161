import { areAlike, type NewJob } from '../store/enqueue.js'
import type { Lanes } from './lanes.js'
import type { Alone, Turns } from './turns.js'

export interface CarrierOptions {
  readonly turns: Turns
  readonly lanes: Lanes
  readonly tasks: ReadonlyMap<string, unknown>
  readonly mayClaim: () => boolean
}

/**
 * Stores what its process enqueues with a turn of the worker, which claims it in the same commit: from enqueue() to the
 * handler it is one round trip instead of two. Only what a handler is free for, and never with a turn that might wait.
 */
export class Carrier {
  readonly #options: CarrierOptions
  /** What it has stored, until the event of that: a few, and told in the order in which they are here. */
  readonly #stored: string[] = []

  constructor(options: CarrierOptions) {
    this.#options = options
  }

  /** When these jobs, under fresh ids, are stored, by a turn or `alone`; undefined if that is not for this worker now. */
  carry(jobs: readonly NewJob[], alone: Alone): Promise<unknown> | undefined {
    const { turns, lanes, tasks, mayClaim } = this.#options
    const { task, queue, delayMs, gatesText } = jobs[0] as NewJob
    if (!mayClaim() || !turns.isFree) return undefined // guard: carrier.may_claim
    if (!tasks.has(task)) return undefined // guard: carrier.known_task
    if (delayMs !== 0 || gatesText !== null || !areAlike(jobs)) return undefined // guard: carrier.plain
    const claim = lanes.claimFor(queue, jobs.length)
    return claim && turns.carry(jobs, claim, alone).then((how) => how === 'alone' || this.#keep(jobs))
  }

  #keep(jobs: readonly NewJob[]): void {
    for (const { id } of jobs) this.#stored.push(id)
  }

  /** Whether the turn that has stored it has looked for it, too. Asked once, when it is told as enqueued. */
  hasLookedFor(jobId: string): boolean {
    const at = this.#stored.indexOf(jobId)
    return at !== -1 && this.#stored.splice(at, 1).length > 0
  }
}
