import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import {
  changeVisibility,
  deleteMessages,
  type Receipt,
  type Receive,
  receiveMessages,
  type Send,
  type Sent,
  sendMessages,
} from '../../src/store/sqs-messages.js'
import { createQueue, setQueue } from '../../src/store/sqs-queues.js'
import { registerServer } from '../../src/store/sqs-servers.js'
import { setup } from './setup.js'

export const plainSettings = {
  delaySeconds: 0,
  maximumMessageSize: 1_048_576,
  messageRetentionPeriod: 345_600,
  receiveMessageWaitTimeSeconds: 0,
  visibilityTimeout: 30,
}

let sends = 0

export function anEntry(given: Partial<Send> = {}): Send {
  const body = `m${++sends}`
  return {
    key: Buffer.from(randomUUID()),
    id: randomUUID(),
    payload: { $message: { body } },
    size: body.length,
    delayMs: null,
    rank: 0,
    group: null,
    dedupId: null,
    dedupGiven: false,
    ...given,
  }
}

/** Of a FIFO queue. */
export function aGrouped(group: string, given: Partial<Send> = {}): Send {
  return anEntry({ group, dedupId: randomUUID(), dedupGiven: true, ...given })
}

/** The answers, of a send to a queue that is there. */
export async function stored(sent: ReturnType<typeof sendMessages>): Promise<readonly Sent[]> {
  const answers = await sent
  if (typeof answers === 'string') throw new Error(answers)
  return answers
}

/** A registered server, the queue `q`, and short words for what tests of messages do most. */
export async function setupSqs(settings: object = {}, queue = 'q') {
  const bundle = await setup()
  const { db } = bundle
  await registerServer(db, 's1', 'on', 60_000)
  const make = (name: string, given: object = {}) => createQueue(db, name, { ...plainSettings, ...given }, {})
  await make(queue, settings)
  return {
    ...bundle,
    make,
    send: async (...entries: Send[]) => sendMessages(db, 's1', queue, entries),
    sendTo: async (name: string, ...entries: Send[]) => sendMessages(db, 's1', name, entries),
    receive: async (given: Partial<Receive> = {}) => {
      const found = await receiveMessages(db, {
        queue,
        max: 10,
        visibleMs: null,
        receiver: 'r1',
        attempt: null,
        inFlightMax: null,
        ...given,
      })
      if (typeof found === 'string') throw new Error(found)
      return found
    },
    remove: async (...receipts: Receipt[]) => deleteMessages(db, queue, receipts),
    change: async (visibleMs: number, ...receipts: Receipt[]) =>
      changeVisibility(
        db,
        queue,
        receipts.map((receipt) => ({ ...receipt, visibleMs })),
      ),
    set: async (changes: object) => {
      const before = await bundle.sql<{ settings: object }>(
        'select settings from fencepost.sqs_queue where name = $1',
        [queue],
      )
      const was = (before[0] as (typeof before)[0]).settings
      expect(await setQueue(db, queue, was, { ...was, ...changes })).toBe('set')
    },
    /** Every invariant holds. */
    sound: async () => expect((await audit(db)).findings).toEqual([]),
  }
}
