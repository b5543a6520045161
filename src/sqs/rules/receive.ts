import { sqsDefaults, sqsLimits } from './limits.js'
import { checkToken, invalidParameter, isWholeNumber, missingParameter, wrongQueueType } from './parameter-errors.js'
import { isFifoName } from './queue-name.js'
import { unknownAttribute } from './queue-settings.js'

const systemAttributes = [
  'SenderId',
  'SentTimestamp',
  'ApproximateReceiveCount',
  'ApproximateFirstReceiveTimestamp',
  'SequenceNumber',
  'MessageDeduplicationId',
  'MessageGroupId',
  'AWSTraceHeader',
  'DeadLetterQueueSourceArn',
] as const

export type SystemAttributeName = (typeof systemAttributes)[number]

/** ReceiveMessage, by the names of the API. */
export interface ReceiveInput {
  readonly MaxNumberOfMessages?: number | undefined
  readonly WaitTimeSeconds?: number | undefined
  readonly VisibilityTimeout?: number | undefined
  /** The older name of MessageSystemAttributeNames; both may be given. */
  readonly AttributeNames?: readonly string[] | undefined
  readonly MessageSystemAttributeNames?: readonly string[] | undefined
  readonly MessageAttributeNames?: readonly string[] | undefined
  readonly ReceiveRequestAttemptId?: string | undefined
}

export interface CheckedReceive {
  readonly messagesMax: number
  readonly waitSeconds: number | undefined
  readonly visibilitySeconds: number | undefined
  readonly systemAttributes: ReadonlySet<SystemAttributeName>
  /** Whether the receiver wants the message attribute of this name. */
  readonly wantsAttribute: (name: string) => boolean
  readonly attemptId: string | undefined
}

/** What can be said of a ReceiveMessage without knowing the queue. */
export function checkedReceive(input: ReceiveInput): CheckedReceive {
  const { MaxNumberOfMessages: messagesMax = sqsDefaults.receiveMessages, WaitTimeSeconds: waitSeconds } = input
  if (!isWholeNumber(messagesMax, 1, sqsLimits.receiveMessagesMax)) {
    const reason = `Must be between 1 and ${sqsLimits.receiveMessagesMax}, if provided.`
    throw invalidParameter('MaxNumberOfMessages', messagesMax, reason)
  }
  if (waitSeconds !== undefined && !isWholeNumber(waitSeconds, 0, sqsLimits.waitSecondsMax)) {
    const reason = `Must be >= 0 and <= ${sqsLimits.waitSecondsMax}, if provided.`
    throw invalidParameter('WaitTimeSeconds', waitSeconds, reason)
  }
  const { VisibilityTimeout: visibilitySeconds, ReceiveRequestAttemptId: attemptId } = input
  if (visibilitySeconds !== undefined) checkedVisibilitySeconds(visibilitySeconds)
  if (attemptId !== undefined) checkToken('ReceiveRequestAttemptId', attemptId)
  return {
    messagesMax,
    waitSeconds,
    visibilitySeconds,
    systemAttributes: askedSystemAttributes(input),
    wantsAttribute: attributeFilter(input.MessageAttributeNames),
    attemptId,
  }
}

/** Only receives of FIFO queues have a name by which they can be tried again. */
export function attemptOf({ attemptId }: CheckedReceive, queue: string): string | null {
  if (attemptId !== undefined && !isFifoName(queue)) throw wrongQueueType('ReceiveRequestAttemptId', attemptId)
  return attemptId ?? null
}

/** The VisibilityTimeout of ReceiveMessage and, where it must be given, of ChangeMessageVisibility. */
export function checkedVisibilitySeconds(value: number | undefined): number {
  if (value === undefined) throw missingParameter('VisibilityTimeout')
  if (isWholeNumber(value, 0, sqsLimits.visibilitySecondsMax)) return value
  const reason = `VisibilityTimeout must be an integer between 0 and ${sqsLimits.visibilitySecondsMax}.`
  throw invalidParameter('VisibilityTimeout', value, reason)
}

function askedSystemAttributes(input: ReceiveInput): ReadonlySet<SystemAttributeName> {
  const asked = new Set<SystemAttributeName>()
  for (const name of [...(input.AttributeNames ?? []), ...(input.MessageSystemAttributeNames ?? [])]) {
    const known = systemAttributes.find((one) => one === name)
    if (known !== undefined) asked.add(known)
    else if (name === 'All') for (const each of systemAttributes) asked.add(each)
    else throw unknownAttribute(name, [...systemAttributes, 'All'])
  }
  return asked
}

/** Names, prefixes as `trace.*`, or all by `All` or `.*`. Names that no message has are no error. */
function attributeFilter(names: readonly string[] = []): (name: string) => boolean {
  if (names.includes('All')) return () => true
  const exact = new Set(names)
  // `Hel.*` is for Hello too: what stands before the dot is the prefix, and `.*` has the empty one.
  const prefixes = names.filter((name) => name.endsWith('.*')).map((name) => name.slice(0, -2))
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
}
