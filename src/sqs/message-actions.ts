import { hash, randomUUID } from 'node:crypto'
import { newJobId } from '../job/job-id.js'
import { changeVisibility, type Received, type Receive, type Send, type Sent } from '../store/sqs-messages.js'
import { readQueue } from '../store/sqs-queues.js'
import { arnOf, type Desk, noQueue } from './desk.js'
import { envelopeOf, messageOf, type StoredMessage, storedAttributes, wireAttributes } from './message-envelope.js'
import { type BatchOutcome, checkBatchSize, checkedBatch, eachEntry } from './rules/batch.js'
import { sqsLimits } from './rules/limits.js'
import {
  type CheckedMessage,
  checkedMessage,
  type MessageInput,
  type MessagePlacement,
  noDeduplicationId,
  placedMessage,
  tooLarge,
} from './rules/message.js'
import { isFifoName, nameFromUrl } from './rules/queue-name.js'
import type { QueueSettings } from './rules/queue-settings.js'
import { decodeReceipt, encodeReceipt } from './rules/receipt-handle.js'
import {
  attemptOf,
  type CheckedReceive,
  checkedReceive,
  checkedVisibilitySeconds,
  type SystemAttributeName,
} from './rules/receive.js'
import type { SqsAction } from './sqs-call.js'
import { SqsError } from './sqs-error.js'
import { md5OfAttributes, md5OfBody } from './wire/message-md5.js'
import type { ReceivedMessage } from './wire/model.js'

type MessageAction =
  | 'SendMessage'
  | 'SendMessageBatch'
  | 'ReceiveMessage'
  | 'DeleteMessage'
  | 'DeleteMessageBatch'
  | 'ChangeMessageVisibility'
  | 'ChangeMessageVisibilityBatch'

interface Entry extends CheckedMessage {
  readonly id: string
  readonly placement: MessagePlacement
}

/** What can be done with messages. */
export function messageActions(desk: Desk): { readonly [A in MessageAction]: SqsAction<A> } {
  const { db } = desk
  return {
    SendMessage: async ({ input, principal, token, action }) => {
      const queue = nameFromUrl(input.QueueUrl)
      const entry = { id: '', ...entryOf(input, queue) }
      const [sent] = await send(desk, queue, [entry], { principal, token, action })
      return answerOf(entry, sent as Sent | SqsError)
    },
    SendMessageBatch: async ({ input, principal, token, action }) => {
      const queue = nameFromUrl(input.QueueUrl)
      const entries = checkedBatch('SendMessageBatch', input.Entries)
      checkBatchSize(entries)
      const { passed, failed } = eachEntry(entries, (entry) => entryOf(entry, queue))
      const checked = passed.map(({ id, value }) => ({ id, ...value }))
      const answers = checked.length > 0 ? await send(desk, queue, checked, { principal, token, action }) : []
      if (checked.length === 0 && !(await readQueue(db, queue))) throw noQueue()
      const told = eachEntry(
        checked.map((entry, n) => ({ Id: entry.id, entry, sent: answers[n] as Sent | SqsError })),
        ({ entry, sent }) => answerOf(entry, sent),
      )
      return {
        Successful: told.passed.map(({ id, value }) => ({ Id: id, ...value })),
        Failed: failures([...failed, ...told.failed]),
      }
    },
    ReceiveMessage: async (call) => {
      const queue = nameFromUrl(call.input.QueueUrl)
      const asked = checkedReceive(call.input)
      const ask: Receive = {
        queue,
        max: asked.messagesMax,
        visibleMs: asked.visibilitySeconds === undefined ? null : asked.visibilitySeconds * 1_000,
        receiver: desk.server,
        attempt: attemptOf(asked, queue),
        inFlightMax: null,
      }
      const found = await desk.waiters.receive(
        ask,
        async () => (asked.waitSeconds ?? (await waitSecondsOf(desk, queue))) * 1_000,
        call,
      )
      if (found === 'no_queue') throw noQueue()
      if (found === 'over_limit') {
        if (isFifoName(queue)) return {}
        throw new SqsError(
          'OverLimit',
          `Too many messages in flight for queue ${queue}: at most ${sqsLimits.inFlightMax} may be received and not deleted.`,
        )
      }
      if (call.caller.isGone && found.length > 0) {
        // Nobody reads this answer: let others have the messages now, not when the time has run out.
        await desk.messages.makeVisible(queue, found)
        return {}
      }
      return found.length > 0 ? { Messages: found.map((message) => wireMessage(desk, message, asked)) } : {}
    },
    DeleteMessage: async ({ input }) => {
      const queue = nameFromUrl(input.QueueUrl)
      const [answer] = await remove(desk, queue, [decodeReceipt(input.ReceiptHandle)], [input.ReceiptHandle])
      if (answer instanceof SqsError) throw answer
      return {}
    },
    DeleteMessageBatch: async ({ input }) => {
      const queue = nameFromUrl(input.QueueUrl)
      const entries = checkedBatch('DeleteMessageBatch', input.Entries)
      return settled(entries, async (receipts) =>
        remove(
          desk,
          queue,
          receipts.map(({ value }) => value),
          receipts.map(({ entry }) => entry.ReceiptHandle),
        ),
      )
    },
    ChangeMessageVisibility: async ({ input }) => {
      const queue = nameFromUrl(input.QueueUrl)
      const visibleMs = checkedVisibilitySeconds(input.VisibilityTimeout) * 1_000
      const receipt = decodeReceipt(input.ReceiptHandle)
      const [answer] = await setVisible(desk, queue, [{ ...receipt, visibleMs }], [input.ReceiptHandle])
      if (answer instanceof SqsError) throw answer
      return {}
    },
    ChangeMessageVisibilityBatch: async ({ input }) => {
      const queue = nameFromUrl(input.QueueUrl)
      const entries = checkedBatch('ChangeMessageVisibilityBatch', input.Entries)
      return settled(
        entries,
        async (receipts) =>
          setVisible(
            desk,
            queue,
            receipts.map(({ value, entry }) => ({
              ...value,
              visibleMs: checkedVisibilitySeconds(entry.VisibilityTimeout) * 1_000,
            })),
            receipts.map(({ entry }) => entry.ReceiptHandle),
          ),
        (entry) => void checkedVisibilitySeconds(entry.VisibilityTimeout),
      )
    },
  }
}

/** What the queue says, if the receiver does not: only looked up when there is nothing to receive. */
async function waitSecondsOf(desk: Desk, queue: string): Promise<number> {
  return (await readQueue<QueueSettings>(desk.db, queue))?.settings.receiveMessageWaitTimeSeconds ?? 0
}

function entryOf(input: MessageInput, queue: string): Omit<Entry, 'id'> {
  const message = checkedMessage(input)
  return { ...message, placement: placedMessage(message, isFifoName(queue)) }
}

interface Sender {
  readonly principal: string
  readonly token: string | undefined
  readonly action: string
}

/** Sends entries that are well-formed; of each, what was sent (also before), or why the queue does not take it. */
async function send(
  desk: Desk,
  queue: string,
  entries: readonly Entry[],
  { principal, token = randomUUID(), action }: Sender,
): Promise<readonly (Sent | SqsError)[]> {
  const groups = entries.map(({ placement }) => placement.groupId)
  const fair = !isFifoName(queue) && groups.some((group) => group !== null)
  const ranks = fair ? desk.ranks.ranks(queue, groups) : groups.map(() => 0)
  const sends = entries.map((entry, n): Send => {
    const { groupId, deduplicationId, deduplicationGiven, delaySeconds } = entry.placement
    return {
      key: hash('sha256', identity(principal, action, token, entry), 'buffer'),
      id: newJobId(),
      payload: envelopeOf({
        body: entry.body,
        sender: principal,
        ...(Object.keys(entry.attributes).length > 0 && { attributes: storedAttributes(entry.attributes) }),
        ...(entry.traceHeader !== undefined && { traceHeader: entry.traceHeader }),
        ...(groupId !== null && { groupId }),
        ...(deduplicationId !== null && { deduplicationId }),
      }),
      size: entry.bytes,
      delayMs: delaySeconds === undefined ? null : delaySeconds * 1_000,
      rank: ranks[n] ?? 0,
      group: groupId,
      dedupId: deduplicationId,
      dedupGiven: deduplicationGiven,
    }
  })
  const answers = await sendRegistered(desk, queue, sends)
  if (fair) {
    const got = answers.map(({ rank }) => rank)
    desk.ranks.given(queue, groups, ranks, got)
  }
  const refused = answers.some(({ answer }) => answer === 'too_large')
  const sizeMax = refused ? (await readQueue<QueueSettings>(desk.db, queue))?.settings.maximumMessageSize : undefined
  return answers.map((sent) => {
    if (sent.answer === 'too_large') return tooLarge(sizeMax ?? sqsLimits.messageBytesMax)
    return sent.answer === 'no_dedup_id' ? noDeduplicationId() : sent
  })
}

async function sendRegistered(desk: Desk, queue: string, sends: readonly Send[]): Promise<readonly Sent[]> {
  for (let tries = 0; tries < 3; tries++) {
    const answers = await desk.messages.send(queue, sends)
    if (answers === 'no_queue') throw noQueue()
    if (answers !== 'not_registered') return answers
    await desk.register()
  }
  throw new SqsError('ServiceUnavailable', 'This server is not registered at the moment. Try again.')
}

/** What makes two tries of one entry the same, and nothing else: who, what, which call of theirs, and every word of it. */
function identity(principal: string, action: string, token: string, entry: Entry): string {
  const attributes = Object.entries(storedAttributes(entry.attributes)).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([
    principal,
    action,
    token,
    entry.id,
    entry.body,
    attributes,
    entry.traceHeader,
    entry.delaySeconds,
    entry.groupId,
    entry.deduplicationId,
  ])
}

function answerOf(entry: Entry, sent: Sent | SqsError) {
  if (sent instanceof SqsError) throw sent
  const attributes = md5OfAttributes(entry.attributes)
  const system = entry.traceHeader
    ? md5OfAttributes({ AWSTraceHeader: { DataType: 'String', StringValue: entry.traceHeader } })
    : undefined
  return {
    MessageId: sent.messageId,
    MD5OfMessageBody: md5OfBody(entry.body),
    ...(attributes !== undefined && { MD5OfMessageAttributes: attributes }),
    ...(system !== undefined && { MD5OfMessageSystemAttributes: system }),
    ...(sent.seq !== null && { SequenceNumber: sequenceNumber(sent.seq) }),
  }
}

function sequenceNumber(seq: number): string {
  return String(seq).padStart(20, '0')
}

function wireMessage(desk: Desk, received: Received, asked: CheckedReceive): ReceivedMessage {
  const message = messageOf(received.payload)
  const attributes = wireAttributes(message.attributes, asked.wantsAttribute)
  const md5 = md5OfAttributes(attributes)
  const system = systemAttributesOf(desk, received, message, asked)
  return {
    MessageId: received.jobId,
    ReceiptHandle: encodeReceipt(received),
    MD5OfBody: md5OfBody(message.body),
    Body: message.body,
    ...(system && { Attributes: system }),
    ...(md5 !== undefined && { MD5OfMessageAttributes: md5, MessageAttributes: attributes }),
  }
}

function systemAttributesOf(
  desk: Desk,
  received: Received,
  message: StoredMessage,
  { systemAttributes }: CheckedReceive,
): Record<string, string> | undefined {
  if (systemAttributes.size === 0) return undefined
  const all = {
    SenderId: message.sender,
    SentTimestamp: String(received.createdMs),
    ApproximateReceiveCount: String(received.tries),
    ApproximateFirstReceiveTimestamp: String(received.receivedMs),
    SequenceNumber: message.deduplicationId === undefined ? undefined : sequenceNumber(received.seq),
    MessageDeduplicationId: message.deduplicationId,
    MessageGroupId: message.groupId,
    AWSTraceHeader: message.traceHeader,
    DeadLetterQueueSourceArn: received.deadFrom === null ? undefined : arnOf(desk, received.deadFrom),
  } satisfies Record<SystemAttributeName, string | undefined>
  const shown: Record<string, string> = {}
  for (const name of systemAttributes) {
    const value = all[name]
    if (value !== undefined) shown[name] = value
  }
  return Object.keys(shown).length > 0 ? shown : undefined
}

type Receipt = ReturnType<typeof decodeReceipt>

/** In the order of the receipts: what is wrong with each, or nothing. */
async function remove(
  desk: Desk,
  queue: string,
  receipts: readonly Receipt[],
  handles: readonly string[],
): Promise<readonly (SqsError | undefined)[]> {
  const answers = await desk.messages.delete(queue, receipts)
  if (answers === 'no_queue') throw noQueue()
  return answers.map((answer, n) => {
    if (answer === 'invalid') return invalidReceipt(handles[n] ?? '')
    if (answer !== 'expired') return undefined // of a message that was received again, AWS says nothing either
    const text = `Value ${handles[n]} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`
    return new SqsError('InvalidParameterValueException', text)
  })
}

async function setVisible(
  desk: Desk,
  queue: string,
  changes: readonly (Receipt & { readonly visibleMs: number })[],
  handles: readonly string[],
): Promise<readonly (SqsError | undefined)[]> {
  const answers = await changeVisibility(desk.db, queue, changes)
  if (answers === 'no_queue') throw noQueue()
  return answers.map((answer, n) => {
    if (answer === 'invalid') return invalidReceipt(handles[n] ?? '')
    if (answer === 'changed') return undefined
    const value = `Value ${handles[n]} for parameter ReceiptHandle is invalid.`
    return answer === 'not_in_flight'
      ? new SqsError(
          'MessageNotInflight',
          `${value} Reason: Message does not exist or is not available for visibility timeout change.`,
        )
      : new SqsError(
          'InvalidParameterValueException',
          `Value ${(changes[n]?.visibleMs ?? 0) / 1_000} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [${sqsLimits.visibilitySecondsMax} seconds].`,
        )
  })
}

function invalidReceipt(handle: string): SqsError {
  return new SqsError('ReceiptHandleIsInvalid', `The input receipt handle "${handle}" is not a valid receipt handle.`)
}

interface ReceiptEntry {
  readonly Id: string
  readonly ReceiptHandle: string
  readonly VisibilityTimeout?: number | undefined
}

/** A batch about messages that were received: what is wrong with one entry fails that one. */
async function settled<E extends ReceiptEntry>(
  entries: readonly E[],
  settle: (receipts: readonly { entry: E; value: Receipt }[]) => Promise<readonly (SqsError | undefined)[]>,
  check: (entry: E) => void = () => {},
) {
  const { passed, failed } = eachEntry(entries, (entry) => {
    check(entry)
    return { entry, value: decodeReceipt(entry.ReceiptHandle) }
  })
  const answers = await settle(passed.map(({ value }) => value))
  const told = eachEntry(
    passed.map(({ id }, n) => ({ Id: id, error: answers[n] })),
    ({ error }) => {
      if (error) throw error
    },
  )
  return { Successful: told.passed.map(({ id }) => ({ Id: id })), Failed: failures([...failed, ...told.failed]) }
}

function failures(failed: BatchOutcome<unknown>['failed']) {
  return failed.map(({ id, error }) => ({
    Id: id,
    SenderFault: error.senderFault,
    Code: error.queryCode,
    Message: error.message,
  }))
}
