import { hash } from 'node:crypto'
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

/** What holds for a message of this type of queue. */
export interface MessagePlacement {
  /** Undefined: what the queue says. */
  readonly delaySeconds: number | undefined
  readonly groupId: string | null
  readonly deduplicationId: string | null
  /** Otherwise it is the hash of the body, which counts only if the queue says so. */
  readonly deduplicationGiven: boolean
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

/**
 * Whether queues of this type take the message. What depends on the settings of the queue, which may change between two
 * tries of one send, is decided where the message is stored (sqs_send).
 */
export function placedMessage(message: CheckedMessage, fifo: boolean): MessagePlacement {
  const { body, groupId, deduplicationId, delaySeconds } = message
  if (!fifo) {
    if (deduplicationId !== undefined) throw wrongQueueType('MessageDeduplicationId', deduplicationId)
    return { delaySeconds, groupId: groupId ?? null, deduplicationId: null, deduplicationGiven: false }
  }
  if (groupId === undefined) throw missingParameter('MessageGroupId')
  // AWS lets a zero pass, and many clients always send one; the delay of the queue holds all the same.
  if (delaySeconds !== undefined && delaySeconds !== 0) throw wrongQueueType('DelaySeconds', delaySeconds)
  return {
    delaySeconds: undefined,
    groupId,
    deduplicationId: deduplicationId ?? contentDeduplicationId(body),
    deduplicationGiven: deduplicationId !== undefined,
  }
}

export function tooLarge(bytesMax: number): SqsError {
  const reason = `Message must be shorter than ${bytesMax} bytes.`
  return new SqsError('InvalidParameterValueException', `One or more parameters are invalid. Reason: ${reason}`)
}

export function noDeduplicationId(): SqsError {
  return new SqsError(
    'InvalidParameterValueException',
    'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
  )
}

/** Of the body alone: attributes do not make another message. */
function contentDeduplicationId(body: string): string {
  return hash('sha256', body)
}
