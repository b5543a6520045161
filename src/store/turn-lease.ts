import type { Json } from '../job/json.js'
import type { Fence } from '../job/places.js'
import type { JobPolicy } from '../workflow/run.js'
import type { Lease } from './lease.js'

export interface TurnLease extends Lease {
  /** Null as soon as nobody needs it any more. */
  payload: Json
  /** Marked as started; what was claimed ahead of free handlers is not yet, nor is a suspect. */
  readonly started: boolean
  /** What is left of the lease, from the moment this turn was sent. */
  readonly leftMs: number
}

/** What is told of a lease (sql/moves/turn.sql), behind its kind. From `priority` on it is there if it is not as usual. */
export type ToldLease = [
  kind: 'lease',
  queue: number,
  jobId: string,
  leaseId: number,
  nonce: number,
  task: number | string,
  payload: Json,
  createdAtMs: number,
  leaseMs: number,
  leftMs: number,
  failuresMax: number,
  started: 0 | 1,
  priority?: number,
  tries?: number,
  failures?: number,
  losses?: number,
  releases?: number,
  policy?: JobPolicy | null,
]

/** How long it is if all is as usual. */
const usualLength = 12

/** What the leases of a turn mostly have in common. */
type Terms = Omit<TurnLease, keyof Fence | 'payload' | 'createdAtMs'>

/** Reads the leases of one turn. Those that follow each other on the same terms share them. */
export class ToldLeases {
  readonly #tasks: readonly string[]
  readonly #queues: readonly { readonly queue: string }[]
  #before: ToldLease | undefined
  #terms: Terms | undefined

  /** Those that the turn has named, in this order. */
  constructor(tasks: readonly string[], queues: readonly { readonly queue: string }[]) {
    this.#tasks = tasks
    this.#queues = queues
  }

  read(told: ToldLease): TurnLease {
    // guard: turn-lease.terms
    if (!this.#terms || !this.#before || !isOnSameTerms(told, this.#before)) this.#terms = this.#termsOf(told)
    this.#before = told
    return new LeaseOnTerms(told, this.#terms)
  }

  #termsOf(told: ToldLease): Terms {
    const [, queue, , , , task, , , leaseMs, leftMs, failuresMax, started] = told
    return {
      task: typeof task === 'number' ? (this.#tasks[task - 1] as string) : task,
      queue: this.#queues[queue - 1]?.queue as string,
      priority: told[12] ?? 0,
      tries: told[13] ?? 1,
      failures: told[14] ?? 0,
      losses: told[15] ?? 0,
      releases: told[16] ?? 0,
      failuresMax,
      leaseMs,
      leftMs,
      policy: told[17] ?? null,
      started: started === 1,
    }
  }
}

function isOnSameTerms(told: ToldLease, before: ToldLease): boolean {
  if (told.length > usualLength || before.length > usualLength) return false
  const [, queue, , , , task, , , leaseMs, leftMs, failuresMax, started] = told
  return (
    queue === before[1] &&
    task === before[5] &&
    leaseMs === before[8] &&
    leftMs === before[9] &&
    failuresMax === before[10] &&
    started === before[11]
  )
}

/** A thousand are held at a time, and outlive what is young: what is not their own is not in them. */
class LeaseOnTerms implements TurnLease {
  readonly jobId: string
  readonly leaseId: number
  readonly nonce: number
  payload: Json
  readonly createdAtMs: number
  readonly #terms: Terms

  constructor(told: ToldLease, terms: Terms) {
    this.jobId = told[2]
    this.leaseId = told[3]
    this.nonce = told[4]
    this.payload = told[6]
    this.createdAtMs = told[7]
    this.#terms = terms
  }

  get task() {
    return this.#terms.task
  }

  get queue() {
    return this.#terms.queue
  }

  get priority() {
    return this.#terms.priority
  }

  get tries() {
    return this.#terms.tries
  }

  get failures() {
    return this.#terms.failures
  }

  get losses() {
    return this.#terms.losses
  }

  get releases() {
    return this.#terms.releases
  }

  get failuresMax() {
    return this.#terms.failuresMax
  }

  get leaseMs() {
    return this.#terms.leaseMs
  }

  get leftMs() {
    return this.#terms.leftMs
  }

  get policy() {
    return this.#terms.policy
  }

  get started() {
    return this.#terms.started
  }
}
