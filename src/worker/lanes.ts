import type { Execution } from './executor.js'
import type { Claim } from './turns.js'
import type { TurnLease } from '../store/turn.js'

/** However fast the handlers are, no more than this waits in one process. */
const aheadMax = 1_000

type Part = Claim['queues'][number]

interface Lane {
  readonly queue: string
  /** How many of its handlers may run at the same time. */
  readonly cap: number
  running: number
  /** Claimed, and waiting for a handler to end: next in line. */
  readonly waiting: Execution[]
  /** Asked for by turns that are on their way; of these, for free handlers. */
  asked: number
  promised: number
  /** How much this process had heard of when it last asked. */
  askedNews: number
  /** Endings per millisecond, lately. */
  rate: number
  ended: number
  /** The last claim found less than it asked for. */
  short: boolean
  /** And nothing has come since that one would know of. */
  dry: boolean
}

/**
 * Who may run, and how much to claim: free handlers, plus as many jobs as will have ended before the next turn can bring
 * new ones. With slow handlers that is none; with fast ones it keeps them from waiting for the round trip (concurrency 10
 * then runs at the speed of the database instead of 10 jobs per round trip).
 */
export class Lanes {
  readonly #concurrency: number
  readonly #lanes: readonly Lane[]
  readonly #byQueue: ReadonlyMap<string, Lane>
  #running = 0
  #turnMs = 1
  #answeredAtMs = performance.now()
  #first = 0
  #news = 0

  constructor(concurrency: number, caps: Readonly<Record<string, number>>) {
    this.#concurrency = concurrency
    this.#lanes = Object.entries(caps).map(([queue, cap]) => ({
      queue,
      cap: Math.min(cap, concurrency),
      running: 0,
      waiting: [],
      asked: 0,
      promised: 0,
      askedNews: 0,
      rate: 0,
      ended: 0,
      short: false,
      dry: false,
    }))
    this.#byQueue = new Map(this.#lanes.map((lane) => [lane.queue, lane]))
  }

  get running(): number {
    return this.#running
  }

  /** How long one takes, lately. */
  get turnMs(): number {
    return this.#turnMs
  }

  get waiting(): number {
    return this.#lanes.reduce((count, { waiting }) => count + waiting.length, 0)
  }

  get isEmpty(): boolean {
    return this.#running === 0 && this.waiting === 0
  }

  /** Nothing is asked for, either. */
  get isIdle(): boolean {
    return this.isEmpty && this.#lanes.every(({ asked }) => asked === 0)
  }

  /** Takes a handler's slot for this job, or puts it in line. */
  enter(execution: Execution): boolean {
    const lane = this.#lane(execution.lease.queue)
    if (!this.#hasSlot(lane)) {
      lane.waiting.push(execution)
      return false
    }
    this.#occupy(lane)
    return true
  }

  /** A handler has ended; answers whose turn it is now, the slot taken: of one slot that is free there is one at most. */
  leave(queue: string): Execution | undefined {
    const lane = this.#lane(queue)
    lane.running--
    lane.ended++
    this.#running--
    // Its own queue first, then any other that waited for the worker's last slot.
    let next = this.#next(lane)
    for (const other of this.#lanes) next ??= this.#next(other) // guard: lanes.next
    return next
  }

  #next(lane: Lane): Execution | undefined {
    if (lane.waiting.length === 0 || !this.#hasSlot(lane)) return undefined
    this.#occupy(lane)
    return lane.waiting.shift()
  }

  /** Takes those that wait out of the line: all, or those that have waited too long for what the rate promised. */
  drop(arrivedBeforeMs = Number.POSITIVE_INFINITY): Execution[] {
    return this.#lanes.flatMap((lane) => {
      const late = lane.waiting.filter(({ arrivedAtMs }) => arrivedAtMs < arrivedBeforeMs)
      if (late.length > 0) {
        lane.rate = 0
        lane.waiting.splice(0, lane.waiting.length, ...lane.waiting.filter((execution) => !late.includes(execution)))
      }
      return late
    })
  }

  /** What there is room for. Unless there is a turn anyway, queues that were empty are not asked. */
  claim(anyway: boolean, suspect: boolean): Claim | undefined {
    let { room, handlers } = this.#left()
    if (room <= 0) return undefined
    const queues: Part[] = []
    for (let i = 0; i < this.#lanes.length; i++) {
      // Each turn begins with another queue, so that none starves behind the others.
      const lane = this.#lanes[(this.#first + i) % this.#lanes.length] as Lane
      const part = this.#part(lane, handlers)
      if (part.limit <= 0 || (lane.dry && !anyway)) continue
      // Where there is little, one look at a time: a second one would look for what the first is about to take. But what has
      // come since does not wait for a turn that may be waiting itself.
      if (lane.short && lane.asked > 0 && lane.askedNews === this.#news) continue // guard: lanes.news_meanwhile
      handlers -= part.starts
      queues.push(part)
    }
    if (queues.length === 0) return undefined
    this.#first++ // guard: lanes.turns
    return this.#asked(queues, room, suspect)
  }

  /** For jobs that are about to be stored: if each has a free handler, and nothing is known to wait that comes before them. */
  claimFor(queue: string, jobs: number): Claim | undefined {
    const lane = this.#byQueue.get(queue)
    if (!lane?.short) return undefined // guard: lanes.behind_others
    const { room, handlers } = this.#left()
    const part = this.#part(lane, handlers, jobs)
    if (part.starts < jobs || room < jobs) return undefined // guard: lanes.handler_each
    return this.#asked([part], room, false)
  }

  /** How many more may be claimed, and how many of them for free handlers. */
  #left(): { room: number; handlers: number } {
    let room = this.#concurrency - this.#running
    let handlers = room
    for (const lane of this.#lanes) {
      room += this.#ahead(lane) - lane.waiting.length - lane.asked
      handlers -= lane.waiting.length + lane.promised
    }
    return { room, handlers }
  }

  #part(lane: Lane, handlers: number, jobs = 0): Part {
    const window = lane.cap + this.#ahead(lane)
    const free = window - lane.running - lane.waiting.length - lane.asked // guard: lanes.asked
    // Half the window at most: while one turn's jobs run, the other turn brings the next.
    const limit = Math.min(free, Math.max(jobs, Math.ceil(window / 2)))
    const idle = lane.cap - lane.running - lane.waiting.length - lane.promised
    const starts = Math.max(0, Math.min(limit, handlers, idle)) // guard: lanes.starts
    return { queue: lane.queue, limit, starts }
  }

  #asked(queues: readonly Part[], room: number, suspect: boolean): Claim {
    for (const { queue, limit, starts } of queues) {
      this.#lane(queue).asked += limit
      this.#lane(queue).promised += starts
      this.#lane(queue).askedNews = this.#news
    }
    return { queues, room, suspect, news: this.#news }
  }

  /** The answer to a claim: what was found, and how long it took. */
  answered({ queues, room, news }: Claim, leases: readonly TurnLease[], sentAtMs: number): { dry: boolean } {
    const nowMs = performance.now()
    const sinceMs = Math.max(nowMs - this.#answeredAtMs, 0.05)
    this.#answeredAtMs = nowMs
    this.#turnMs = mixed(this.#turnMs, nowMs - sentAtMs)
    for (const lane of this.#lanes) {
      lane.rate = mixed(lane.rate, lane.ended / sinceMs)
      lane.ended = 0
    }
    for (const { queue, limit, starts } of queues) {
      const lane = this.#lane(queue)
      lane.asked -= limit
      lane.promised -= starts
      const found = leases.reduce((count, lease) => count + (lease.queue === queue ? 1 : 0), 0)
      lane.short = found < limit && leases.length < room
      // What came while the claim was on its way, it may have missed.
      lane.dry = lane.short && news === this.#news // guard: lanes.news
    }
    return { dry: queues.some(({ queue }) => this.#lane(queue).dry) }
  }

  /** Something may have come: look, whatever the last claim found. */
  refill(): void {
    this.#news++
    for (const lane of this.#lanes) lane.dry = false
  }

  #ahead(lane: Lane): number {
    return Math.min(aheadMax, Math.floor(2 * lane.rate * this.#turnMs)) // guard: lanes.ahead_max
  }

  #hasSlot(lane: Lane): boolean {
    // guard: lanes.cap
    // guard: lanes.concurrency
    return lane.running < lane.cap && this.#running < this.#concurrency
  }

  #occupy(lane: Lane): void {
    lane.running++
    this.#running++
  }

  #lane(queue: string): Lane {
    return this.#byQueue.get(queue) as Lane
  }
}

function mixed(old: number, now: number): number {
  return old * 0.7 + now * 0.3
}
