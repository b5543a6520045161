import { Coalescer, weightOf } from '../store/coalescer.js'
import type { Database } from '../store/database.js'
import {
  changeVisibility,
  type DeleteAnswer,
  deleteMessages,
  type Receipt,
  type Received,
  type Receive,
  receiveMessages,
  type Send,
  type Sent,
  sendMessages,
} from '../store/sqs-messages.js'
import { isFifoName } from './rules/queue-name.js'

export type SendAnswers = readonly Sent[] | 'no_queue' | 'not_registered'
export type ReceiveAnswer = readonly Received[] | 'no_queue' | 'over_limit'
export type DeleteAnswers = readonly DeleteAnswer[] | 'no_queue'

interface Lines {
  readonly sends: Coalescer<readonly Send[], SendAnswers>
  readonly receives: Map<string, Coalescer<Receive, ReceiveAnswer>>
  readonly deletes: Coalescer<readonly Receipt[], DeleteAnswers>
}

/** The messages of all queues, for many callers at a time: what they ask of one queue in the same moment is one statement. */
export class MessageStore {
  readonly #db: Database
  readonly #server: string
  readonly #lines = new Map<string, Lines>()

  constructor(db: Database, server: string) {
    this.#db = db
    this.#server = server
  }

  send(queue: string, entries: readonly Send[]): Promise<SendAnswers> {
    return this.#using(queue, ({ sends }) => sends.ask(entries))
  }

  /** Of a FIFO queue, each receiver by itself: a message group is not to be split between two of them. */
  receive(ask: Receive): Promise<ReceiveAnswer> {
    if (isFifoName(ask.queue) || ask.inFlightMax !== null) return receiveMessages(this.#db, ask)
    return this.#using(ask.queue, ({ receives }) => {
      const key = String(ask.visibleMs)
      const known = receives.get(key) ?? this.#receives()
      receives.set(key, known)
      return known.ask(ask)
    })
  }

  delete(queue: string, receipts: readonly Receipt[]): Promise<DeleteAnswers> {
    return this.#using(queue, ({ deletes }) => deletes.ask(receipts))
  }

  async makeVisible(queue: string, messages: readonly Received[]): Promise<void> {
    await changeVisibility(
      this.#db,
      queue,
      messages.map((message) => ({ ...message, visibleMs: 0 })),
    )
  }

  /** A queue that nobody asks for is forgotten. */
  async #using<Answer>(queue: string, ask: (lines: Lines) => Promise<Answer>): Promise<Answer> {
    const lines = this.#lines.get(queue) ?? this.#linesOf(queue)
    this.#lines.set(queue, lines)
    try {
      return await ask(lines)
    } finally {
      const idle = [lines.sends, lines.deletes, ...lines.receives.values()].every((line) => line.idle)
      if (idle && this.#lines.get(queue) === lines) this.#lines.delete(queue)
    }
  }

  #linesOf(queue: string): Lines {
    return {
      sends: new Coalescer({
        run: async (asks) => parted(asks, await sendMessages(this.#db, this.#server, queue, asks.flat())),
        weight: (entries) => weightOf(entries.map(({ size }) => size)),
        // Two tries of one send must not meet in one statement: the second is to find what the first has recorded.
        apart: (entries) => entries.map(({ key }) => key.toString('base64')),
      }),
      receives: new Map(),
      deletes: new Coalescer({
        run: async (asks) => parted(asks, await deleteMessages(this.#db, queue, asks.flat())),
        weight: (receipts) => receipts.length,
      }),
    }
  }

  #receives(): Coalescer<Receive, ReceiveAnswer> {
    return new Coalescer<Receive, ReceiveAnswer>({
      run: async (asks) => {
        const max = asks.reduce((sum, ask) => sum + ask.max, 0)
        const found = await receiveMessages(this.#db, { ...(asks[0] as Receive), max })
        let next = 0
        return asks.map((ask) => (typeof found === 'string' ? found : found.slice(next, (next += ask.max))))
      },
      weight: (ask) => ask.max,
      mayBeOneOfThem: () => false,
    })
  }
}

/** To each what belongs to it, of answers that came in one list. */
function parted<Answer, Refusal extends string>(
  asks: readonly (readonly unknown[])[],
  answers: readonly Answer[] | Refusal,
): readonly (readonly Answer[] | Refusal)[] {
  if (typeof answers === 'string') return asks.map(() => answers)
  let next = 0
  return asks.map((items) => answers.slice(next, (next += items.length)))
}
