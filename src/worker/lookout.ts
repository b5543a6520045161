import type { Events } from '../events.js'
import type { Database } from '../store/database.js'
import type { Listener } from '../store/listener.js'
import { awake, fallAsleep, oldestTransaction, readyChannel } from '../store/worker.js'

const lookMsMin = 5
/** After this long without a job the worker asks to be notified: before, the next look is cheaper for everyone. */
const restlessMs = 80
/** Notices are counted over this time: a load that begins is to be noticed soon. */
const noticesMs = 200
/**
 * Whether these are too many notices in that time, by how long turns took at each: transactions that notify commit one after the
 * other, and a load of them waits. They may take about half of the time with that: a turn takes 2.4 times as long as one of them
 * in the median of eight measurements on a busy machine (1.0 to 5.1). Summed up, because a single turn that took long says nothing.
 */
export function areTooMany(turnsMs: readonly number[]): boolean {
  const takenMs = turnsMs.reduce((sum, turnMs) => sum + turnMs, 0)
  return turnsMs.length > 50 || (turnsMs.length > 20 && takenMs > noticesMs) // guard: lookout.notices
}

/**
 * Notified too often, it looks by itself, and asks again after this long though jobs keep coming. Too often in the very second
 * after it asked is a load; too often later may have been a moment in which everything was slow.
 */
export function askAgainMs(sleptMs: number): number {
  return sleptMs < 1_000 ? 60_000 : 1_000 // guard: lookout.load
}

/** Tells what is notified from now on. */
type Hearing = (onNotice: (queue: string) => void) => Pick<Listener, 'close'>

export interface LookoutOptions {
  readonly db: Database
  readonly events: Events
  readonly worker: () => string
  readonly queues: readonly string[]
  readonly pollMs: number
  /**
   * False: polling only. A URL: where to listen, if that cannot be done where the work is done (PgBouncer). A function: how
   * to hear what somebody else listens to.
   */
  readonly listen: boolean | string | Hearing
  /** How long a turn takes; if that is not known, it is not notified often. */
  readonly turnMs?: () => number
  /** Look for work now. */
  readonly look: () => void
}

/**
 * Decides when to look for work again after a claim has found too little.
 *
 *     found ──▶ looks after 5, 10, 20 … ms ──80 ms──▶ asleep: notified, and looks every `poll`
 *       ▲                                              │
 *       └────────────── notified too often ────────────┘
 *
 * Between the empty claim and the moment at which everyone who enqueues can see that this worker sleeps, a job could come
 * unnoticed. So the sleeper keeps looking until every transaction that may have missed it has ended. A notice that is
 * lost (its connection broke) costs one poll interval, never the job.
 */
export class Lookout {
  readonly #options: LookoutOptions
  readonly #listener: Pick<Listener, 'close'> | undefined
  #timer: NodeJS.Timeout | undefined
  /** When that goes off. */
  #lookAtMs = 0
  #lookMs = lookMsMin
  #asleepAs: string | undefined
  #asleepAtMs = 0
  #askAgainAtMs = Number.POSITIVE_INFINITY
  /** Looks are short while a transaction older than this may have missed the sleeper. */
  #unseenBy: bigint | undefined
  #notices: { readonly atMs: number; readonly turnMs: number }[] = []
  /** One after the other: what is said last about whether it sleeps is to hold. */
  #looking: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: LookoutOptions) {
    this.#options = options
    const { listen } = options
    if (typeof listen === 'function') this.#listener = listen((queue) => this.#notice(queue))
    else if (listen !== false) {
      const db = typeof listen === 'string' ? listen : undefined
      this.#listener = options.db.listen(
        readyChannel,
        (queue) => this.#notice(queue),
        (error) => this.#trouble('listening', error),
        db,
      )
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await Promise.all([this.#looking, this.#listener?.close()])
  }

  /** Forgets how long there was nothing: the worker is another one now, and asks anew to be notified. */
  restart(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#asleepAs = undefined
    this.#unseenBy = undefined
    this.#lookMs = lookMsMin
  }

  /** A claim brought all it asked for: no need to wait for the next. */
  found(): void {
    this.#lookMs = lookMsMin
  }

  /**
   * A claim brought less than it asked for. `nudged`: some gate was locked, and is to be looked at again before a sleep.
   * `unseenMs`: it did not look everywhere; in so many milliseconds it will, once, however long the worker sleeps otherwise.
   */
  nothing(foundSome: boolean, nudged: boolean, unseenMs = Number.POSITIVE_INFINITY): void {
    // Asleep, and seen by all: what this claim has not found will be notified.
    const willHear = this.#asleepAs !== undefined && this.#unseenBy === undefined
    if (foundSome && !willHear)
      this.#lookMs = lookMsMin // guard: lookout.will_hear
    else if (nudged) this.#lookMs = Math.min(this.#lookMs, restlessMs / 2)
    const inMs = Math.min(this.#lookMs, unseenMs) // guard: lookout.in_time
    const atMs = performance.now() + inMs
    if (this.#stopped || (this.#timer !== undefined && this.#lookAtMs <= atMs)) return
    clearTimeout(this.#timer)
    this.#lookAtMs = atMs
    this.#timer = setTimeout(() => {
      this.#looking = this.#looking.then(() => this.#next())
    }, inMs)
  }

  async #next(): Promise<void> {
    const { db, worker, queues, pollMs, look } = this.#options
    this.#lookMs = Math.min(this.#lookMs * 2, pollMs)
    try {
      const rests = this.#lookMs > Math.min(restlessMs, pollMs / 2)
      const asksAgain = performance.now() >= this.#askAgainAtMs // guard: lookout.again
      if (this.#listener && (rests || asksAgain) && this.#asleepAs !== worker()) {
        this.#asleepAs = worker()
        this.#asleepAtMs = performance.now()
        this.#askAgainAtMs = this.#asleepAtMs + 1_000 // guard: lookout.again_later (should this fail)
        const unseenBy = await fallAsleep(db, this.#asleepAs, queues)
        // Notified too often meanwhile, it will not hear of what comes, and goes on looking.
        if (this.#asleepAs !== undefined) this.#unseenBy = unseenBy // guard: lookout.risen
        this.#lookMs = lookMsMin
        // guard: lookout.unseen
      } else if (this.#unseenBy !== undefined && (await oldestTransaction(db)) >= this.#unseenBy) {
        // Read before the look: what it does not find now will be notified.
        this.#unseenBy = undefined
        this.#lookMs = pollMs
      }
    } catch (error) {
      this.#asleepAs = undefined // guard: lookout.awake
      this.#trouble('falling asleep', error)
    }
    this.#timer = undefined
    if (!this.#stopped) look() // guard: lookout.poll
  }

  #notice(queue: string): void {
    if (this.#stopped || (queue !== '' && !this.#options.queues.includes(queue))) return
    const atMs = performance.now()
    const turnMs = this.#options.turnMs?.() ?? Number.POSITIVE_INFINITY
    this.#notices = [...this.#notices.filter((notice) => atMs - notice.atMs < noticesMs), { atMs, turnMs }]
    if (areTooMany(this.#notices.map((notice) => notice.turnMs))) this.#rise()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#options.look()
  }

  #rise(): void {
    const asleepAs = this.#asleepAs
    if (asleepAs === undefined) return
    this.#asleepAs = undefined
    this.#unseenBy = undefined
    this.#lookMs = lookMsMin
    const nowMs = performance.now()
    this.#askAgainAtMs = nowMs + askAgainMs(nowMs - this.#asleepAtMs)
    this.#looking = this.#looking // guard: lookout.in_order
      .then(() => awake(this.#options.db, asleepAs, this.#options.queues))
      .catch((error: unknown) => this.#trouble('waking up', error))
  }

  #trouble(doing: string, error: unknown): void {
    if (!this.#stopped) this.#options.events.emit('error', { during: doing, error })
  }
}
