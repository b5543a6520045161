import type { Events } from '../events.js'
import type { Database } from '../store/database.js'
import { countInFlight, type Receive, readNextVisibleMs } from '../store/sqs-messages.js'
import { awake, fallAsleep, readyChannel } from '../store/worker.js'
import { Lookout } from '../worker/lookout.js'
import type { MessageStore, ReceiveAnswer } from './message-store.js'
import { sqsLimits } from './rules/limits.js'
import type { SqsCall } from './sqs-call.js'

interface Waiter {
  readonly ask: Receive
  /** Its wait has ended while a look on its behalf was on its way: it is answered what that look finds. */
  over: boolean
  readonly answer: (found: ReceiveAnswer) => void
  readonly fail: (error: unknown) => void
}

export interface WaitersOptions {
  readonly db: Database
  readonly messages: MessageStore
  readonly events: Events
  /** How this server is known to those who notify. */
  readonly server: string
  readonly pollMs: number
  readonly listen: boolean | string
}

/** A queue that nobody waits for is watched a little longer: most receivers come again at once. */
const lingerMs = 5_000
/** Counting what is in flight costs more, the more it is: near the limit it is done in every receive, otherwise now and then. */
const countEveryMs = 1_000
const closeToLimit = 0.9

/**
 * Receivers that wait. However many wait for a queue, one line looks for them: when it is notified, when a delay or a
 * visibility runs out, and every `poll`; whoever waits longest is served first.
 */
type Ends = Pick<SqsCall, 'caller' | 'stopping'>

export class QueueWaiters {
  readonly #options: WaitersOptions
  readonly #lines = new Map<string, Line>()
  readonly #hearers = new Set<(queue: string) => void>()
  readonly #listener: { close(): Promise<void> } | undefined
  readonly #counts = new Map<string, { n: number; atMs: number }>()

  constructor(options: WaitersOptions) {
    this.#options = options
    const { db, events, listen } = options
    if (listen === false) return
    this.#listener = db.listen(
      readyChannel,
      (queue) => {
        for (const hear of this.#hearers) hear(queue)
      },
      (error) => events.emit('error', { during: 'listening', error }),
      typeof listen === 'string' ? listen : undefined,
    )
  }

  /** What there is now, or what comes within the time, or nothing. It ends when the caller leaves or the server stops. */
  async receive(ask: Receive, wait: () => Promise<number>, { caller, stopping }: Ends): Promise<ReceiveAnswer> {
    const over = () => caller.isGone || stopping.aborted
    if (over()) return [] // a message would be received, and counted, for nobody
    // Those who wait already come first.
    if (!this.#lines.get(ask.queue)?.busy) {
      const found = await this.#look(ask)
      if (found.length > 0) return found
    }
    const waitMs = await wait()
    if (waitMs === 0) return this.#lines.get(ask.queue)?.busy ? this.#look(ask) : []
    if (over()) return []
    return this.#line(ask.queue).wait(ask, waitMs, [caller.leaving, stopping])
  }

  /** Whoever takes a server for dead forgets what it has asked to be notified of. */
  async askAgain(): Promise<void> {
    const { db, server } = this.#options
    if (this.#listener && this.#lines.size > 0) await fallAsleep(db, server, [...this.#lines.keys()])
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lines.values()].map((line) => line.close()))
    await this.#listener?.close()
  }

  #line(queue: string): Line {
    const known = this.#lines.get(queue)
    if (known) return known
    const line = new Line(queue, this.#options, {
      look: (ask) => this.#look(ask),
      hear: this.#listener && ((hear) => this.#hear(hear)),
      idle: () => this.#lines.delete(queue),
    })
    this.#lines.set(queue, line)
    return line
  }

  #hear(hear: (queue: string) => void): { close(): Promise<void> } {
    this.#hearers.add(hear)
    return {
      close: async () => {
        this.#hearers.delete(hear)
      },
    }
  }

  async #look(ask: Receive): Promise<ReceiveAnswer> {
    const inFlightMax = (await this.#isCrowded(ask.queue)) ? sqsLimits.inFlightMax : null
    const found = await this.#options.messages.receive({ ...ask, inFlightMax })
    if (found === 'no_queue') this.#counts.delete(ask.queue) // names that anybody can make up are not kept
    return found
  }

  async #isCrowded(queue: string): Promise<boolean> {
    const known = this.#counts.get(queue)
    const now = performance.now()
    if (known && now - known.atMs < countEveryMs) return known.n > sqsLimits.inFlightMax * closeToLimit
    const n = await countInFlight(this.#options.db, queue)
    this.#counts.set(queue, { n, atMs: now })
    return n > sqsLimits.inFlightMax * closeToLimit
  }
}

interface LineOptions {
  readonly look: (ask: Receive) => Promise<ReceiveAnswer>
  readonly hear: ((hear: (queue: string) => void) => { close(): Promise<void> }) | undefined
  readonly idle: () => void
}

/** Those who wait for one queue. */
class Line {
  readonly #queue: string
  readonly #server: WaitersOptions
  readonly #options: LineOptions
  readonly #lookout: Lookout
  readonly #waiters = new Set<Waiter>()
  /** Out of the line while its look is on its way: it may not be answered twice. */
  #served: Waiter | undefined
  #dueTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #looking = false
  #lookAgain = false
  #closed = false

  constructor(queue: string, server: WaitersOptions, options: LineOptions) {
    this.#queue = queue
    this.#server = server
    this.#options = options
    this.#lookout = new Lookout({
      db: server.db,
      events: server.events,
      worker: () => server.server,
      queues: [queue],
      pollMs: server.pollMs,
      listen: options.hear ?? false,
      look: () => void this.#look(),
    })
  }

  get busy(): boolean {
    return this.#waiters.size > 0 || this.#served !== undefined
  }

  wait(ask: Receive, waitMs: number, ends: readonly AbortSignal[]): Promise<ReceiveAnswer> {
    clearTimeout(this.#idleTimer)
    return new Promise((resolve, reject) => {
      // By hand, and taken back: composed signals would add up at one that lives as long as the server.
      const leave = () => this.#leave(waiter)
      const timer = setTimeout(leave, waitMs)
      for (const end of ends) end.addEventListener('abort', leave)
      const settle = () => {
        clearTimeout(timer)
        for (const end of ends) end.removeEventListener('abort', leave)
      }
      const waiter: Waiter = {
        ask,
        over: false,
        answer: (found) => {
          settle()
          resolve(found)
        },
        fail: (error) => {
          settle()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
      if (this.#waiters.size === 1) void this.#look()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#dueTimer)
    clearTimeout(this.#idleTimer)
    for (const waiter of this.#waiters) this.#leave(waiter)
    await this.#lookout.stop()
    await awake(this.#server.db, this.#server.server, [this.#queue]).catch(() => {})
  }

  #leave(waiter: Waiter): void {
    waiter.over = true
    if (!this.#waiters.delete(waiter)) return
    waiter.answer([])
    this.#idleSoon()
  }

  #idleSoon(): void {
    if (this.busy || this.#closed) return
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => {
      if (this.busy) return
      this.#options.idle()
      void this.close()
    }, lingerMs)
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#lookAgain = true
      return
    }
    this.#looking = true
    try {
      do {
        this.#lookAgain = false
        await this.#serve()
      } while (this.#lookAgain)
    } finally {
      this.#looking = false
    }
  }

  /** Serves one after the other until there is nothing more; then says when to look again. */
  async #serve(): Promise<void> {
    let some = false
    while (!this.#closed) {
      const [waiter] = this.#waiters
      if (!waiter) return this.#lookout.found()
      const found = await this.#lookFor(waiter)
      if (found === 'nothing') {
        await this.#lookWhenDue()
        return this.#lookout.nothing(some, false)
      }
      some = true
      this.#idleSoon()
    }
  }

  /** Whoever gets nothing stays the first in line, unless its time has run out meanwhile. */
  async #lookFor(waiter: Waiter): Promise<'nothing' | 'answered'> {
    this.#waiters.delete(waiter)
    this.#served = waiter
    try {
      const found = await this.#options.look(waiter.ask)
      if (found.length === 0 && !waiter.over && !this.#closed) {
        this.#putBack(waiter)
        return 'nothing'
      }
      waiter.answer(found)
    } catch (error) {
      waiter.fail(error)
    } finally {
      this.#served = undefined
    }
    return 'answered'
  }

  #putBack(waiter: Waiter): void {
    const others = [...this.#waiters]
    this.#waiters.clear()
    for (const each of [waiter, ...others]) this.#waiters.add(each)
  }

  /** Never rejects: nobody who waits is to blame, and there is the next poll. */
  async #lookWhenDue(): Promise<void> {
    const { db, events } = this.#server
    const dueMs = await readNextVisibleMs(db, this.#queue).catch((error: unknown) => {
      events.emit('error', { during: 'looking for the next message', error })
      return null // the next look is one poll interval away
    })
    clearTimeout(this.#dueTimer)
    if (dueMs === null || this.#closed) return
    this.#dueTimer = setTimeout(() => void this.#look(), Math.max(1, Math.min(dueMs, 60_000)))
  }
}
