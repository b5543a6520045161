import { createHash, randomUUID } from 'node:crypto'
import type { Database, Queryable } from '../store/database.js'
import {
  changeVisibility,
  deleteMessages,
  type Received,
  receiveMessages,
  type Send,
  sendMessages,
} from '../store/sqs-messages.js'
import { createQueue, readQueue, setQueue } from '../store/sqs-queues.js'
import { registerServer } from '../store/sqs-servers.js'

export interface SqsStepsOptions {
  readonly db: Database
  /** The server as which it sends, or the receiver. */
  readonly name: string
  /** The queue of all that is not said to be in another one. */
  readonly queue: string
  /** What a client keeps over all tries of an entry. */
  readonly tokens: readonly string[]
}

const plainSettings = {
  delaySeconds: 0,
  maximumMessageSize: 262_144,
  messageRetentionPeriod: 345_600,
  receiveMessageWaitTimeSeconds: 0,
  visibilityTimeout: 30,
}
type Settings = typeof plainSettings
const serverDeadMs = 600_000

/**
 * What servers that speak SQS do for their clients, one move at a time, through the same store functions. Messages are
 * told by their number: #1 is the first that was stored, #? one that is not stored at all.
 */
export class SqsSteps {
  readonly #db: Database
  readonly #options: SqsStepsOptions
  /** The receipts of this actor, by the number of the message: the last one that it got. */
  readonly #receipts = new Map<string, Received>()

  constructor(options: SqsStepsOptions) {
    this.#db = options.db
    this.#options = options
  }

  /** Makes a queue, and registers the servers of the scenario: they read and write the ledger. */
  async make(settings: object = {}, servers: readonly string[] = [], queue = this.#options.queue): Promise<string> {
    await createQueue(this.#db, queue, { ...plainSettings, ...settings }, {})
    for (const server of servers) await registerServer(this.#db, server, 'on', serverDeadMs)
    return `queue ${queue}`
  }

  async set(changes: Partial<Settings>): Promise<string> {
    const queue = await readQueue<Settings>(this.#db, this.#options.queue)
    if (!queue) return 'no_queue'
    return setQueue(this.#db, queue.name, queue.settings, { ...queue.settings, ...changes })
  }

  /** Sends entries of the scenario, as one try: what a server makes anew for each try is new. */
  async send(indexes: readonly number[], bytes = 10): Promise<string> {
    const sent = await sendMessages(this.#db, this.#options.name, this.#options.queue, this.#entries(indexes, bytes))
    return typeof sent === 'string' ? sent : this.#told(sent)
  }

  /** The same in a transaction that is still open: the numbers are not known yet. */
  async sendIn(tx: Queryable, indexes: readonly number[], bytes = 10): Promise<string> {
    const entries = this.#entries(indexes, bytes)
    const sent = await sendMessages(this.#db, this.#options.name, this.#options.queue, entries, tx)
    return typeof sent === 'string' ? sent : sent.map(({ answer }) => answer).join(', ')
  }

  /** Keeps the receipts; answers the numbers, and how often each was received. */
  async receive(queue = this.#options.queue): Promise<string> {
    const ask = { queue, max: 10, visibleMs: null, receiver: this.#options.name, attempt: null, inFlightMax: null }
    const found = await receiveMessages(this.#db, ask)
    if (typeof found === 'string') return found
    for (const message of found) this.#receipts.set(`#${message.seq}`, message)
    return found.map(({ seq, tries }) => `#${seq} (${tries}×)`).join(', ') || 'nothing'
  }

  /** By the receipt that this actor has for it. */
  async delete(number: string, queue = this.#options.queue): Promise<string> {
    const receipt = this.#receipts.get(number)
    if (!receipt) return 'never received'
    const answers = await deleteMessages(this.#db, queue, [receipt])
    return typeof answers === 'string' ? answers : `${number} ${answers.join('')}`
  }

  /** All that it has a receipt for. */
  async deleteAll(queue = this.#options.queue): Promise<string> {
    const notes: string[] = []
    for (const number of this.#receipts.keys()) notes.push(await this.delete(number, queue))
    return notes.join(', ') || 'nothing'
  }

  async changeVisibility(number: string, visibleMs: number): Promise<string> {
    const receipt = this.#receipts.get(number)
    if (!receipt) return 'never received'
    const answers = await changeVisibility(this.#db, this.#options.queue, [{ ...receipt, visibleMs }])
    return typeof answers === 'string' ? answers : `${number} ${answers.join('')}`
  }

  #entries(indexes: readonly number[], bytes: number): Send[] {
    return indexes.map((index) => ({
      key: createHash('sha256')
        .update(this.#options.tokens[index] as string)
        .digest(),
      id: randomUUID(),
      payload: { $message: { body: `entry ${index}` } },
      size: bytes,
      delayMs: null,
      rank: 0,
      group: null,
      dedupId: null,
      dedupGiven: false,
    }))
  }

  /** The answers with the numbers of the messages that they speak of; what all have in common is said once. */
  async #told(sent: readonly { answer: string; messageId: string }[]): Promise<string> {
    const rows = await this.#db.once<{ seq: number | null }>(
      `select j.seq from unnest($1::uuid[]) with ordinality as a(id, n) left join fencepost.job j on j.id = a.id order by a.n`,
      [sent.map(({ messageId }) => messageId)],
    )
    const notes = sent.map(({ answer }, n) => (answer === 'too_large' ? answer : `${answer} #${rows[n]?.seq ?? '?'}`))
    const [first = ''] = notes
    const answer = first.split(' ', 1)[0] as string
    return notes.every((note) => note.startsWith(`${answer} `))
      ? [first, ...notes.slice(1).map((note) => note.slice(answer.length + 1))].join(', ')
      : notes.join(', ')
  }
}
