import { createHash } from 'node:crypto'
import { SqsError } from '../sqs-error.js'
import { allowedCharacters, firstRefusedCharacter } from './characters.js'
import { sqsLimits } from './limits.js'
import {
  type AttributeInputs,
  checkedMessageAttributes,
  checkedTraceHeader,
  type MessageAttributes,
} from './message-attributes.js'
import { checkToken, invalidParameter, isWholeNumber, missingParameter, wrongQueueType } from './parameter-errors.js'
import type { QueueSettings } from './queue-settings.js'

/** SendMessage, or an entry of SendMessageBatch, by the names of the API. */
export interface MessageInput {
  readonly MessageBody?: string | undefined
  readonly DelaySeconds?: number | undefined
  readonly MessageAttributes?: AttributeInputs | undefined
  readonly MessageSystemAttributes?: AttributeInputs | undefined
  readonly MessageDeduplicationId?: string | undefined
  readonly MessageGroupId?: string | undefined
}

/** A message that some queue could take. */
export interface CheckedMessage {
  readonly body: string
  readonly attributes: MessageAttributes
  readonly traceHeader: string | undefined
  readonly delaySeconds: number | undefined
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
  readonly bytes: number
}

/** What holds for a message once it is known to which queue it goes. */
export interface MessagePlacement {
  readonly delaySeconds: number
  readonly groupId: string | null
  readonly deduplicationId: string | null
}

/** What can be said of a message without knowing its queue. */
export function checkedMessage(input: MessageInput): CheckedMessage {
  const { MessageBody: body, DelaySeconds: delaySeconds } = input
  if (body === undefined || body === '') throw missingParameter('MessageBody')
  checkBody(body)
  if (delaySeconds !== undefined && !isWholeNumber(delaySeconds, 0, sqsLimits.delaySecondsMax)) {
    const reason = `DelaySeconds must be >= 0 and <= ${sqsLimits.delaySecondsMax}.`
    throw invalidParameter('DelaySeconds', delaySeconds, reason)
  }
  const { MessageGroupId: groupId, MessageDeduplicationId: deduplicationId } = input
  if (groupId !== undefined) checkToken('MessageGroupId', groupId)
  if (deduplicationId !== undefined) checkToken('MessageDeduplicationId', deduplicationId)
  const attributes = checkedMessageAttributes(input.MessageAttributes)
  const traceHeader = checkedTraceHeader(input.MessageSystemAttributes)
  return { body, attributes, traceHeader, delaySeconds, groupId, deduplicationId, bytes: messageSize(body, attributes) }
}

function checkBody(body: string): void {
  const refused = firstRefusedCharacter(body)
  if (refused === undefined) return
  throw new SqsError(
    'InvalidMessageContents',
    `Invalid binary character '${refused.name}' was found in the message body at character ${refused.offset}, the set of allowed characters is ${allowedCharacters}.`,
  )
}

/** In bytes, as AWS counts: the body, and of each attribute the name, the type and the value. System attributes are free. */
export function messageSize(body: string, attributes: AttributeInputs = {}): number {
  let bytes = Buffer.byteLength(body)
  for (const [name, { DataType = '', StringValue = '', BinaryValue }] of Object.entries(attributes)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(DataType) + Buffer.byteLength(StringValue)
    bytes += BinaryValue?.length ?? 0
  }
  return bytes
}

/** Whether this queue takes the message, and how. */
export function placedMessage(message: CheckedMessage, settings: QueueSettings): MessagePlacement {
  if (message.bytes > settings.maximumMessageSize) {
    const reason = `Message must be shorter than ${settings.maximumMessageSize} bytes.`
    throw new SqsError('InvalidParameterValueException', `One or more parameters are invalid. Reason: ${reason}`)
  }
  return settings.fifo ? placedInFifo(message, settings) : placedInStandard(message, settings)
}

function placedInStandard(message: CheckedMessage, settings: QueueSettings): MessagePlacement {
  const { deduplicationId, groupId, delaySeconds } = message
  if (deduplicationId !== undefined) throw wrongQueueType('MessageDeduplicationId', deduplicationId)
  return { delaySeconds: delaySeconds ?? settings.delaySeconds, groupId: groupId ?? null, deduplicationId: null }
}

function placedInFifo(message: CheckedMessage, settings: QueueSettings): MessagePlacement {
  const { body, groupId, delaySeconds } = message
  if (groupId === undefined) throw missingParameter('MessageGroupId')
  // AWS lets a zero pass, and many clients always send one; the delay of the queue holds all the same.
  if (delaySeconds !== undefined && delaySeconds !== 0) throw wrongQueueType('DelaySeconds', delaySeconds)
  const deduplicationId =
    message.deduplicationId ?? (settings.contentBasedDeduplication ? contentDeduplicationId(body) : undefined)
  if (deduplicationId === undefined) {
    throw new SqsError(
      'InvalidParameterValueException',
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    )
  }
  return { delaySeconds: settings.delaySeconds, groupId, deduplicationId }
}

/** Of the body alone: attributes do not make another message. */
export function contentDeduplicationId(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}
