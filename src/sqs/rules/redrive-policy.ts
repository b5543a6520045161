import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'
import { sqsLimits } from './limits.js'
import { isFifoName, nameFromArn } from './queue-name.js'

/** Where a message goes that was received maxReceiveCount times and not deleted. */
export interface RedrivePolicy {
  readonly deadLetterTargetArn: string
  readonly maxReceiveCount: number
}

/** Which queues may name this one as their dead-letter queue. */
export type RedriveAllowPolicy =
  | { readonly redrivePermission: 'allowAll' | 'denyAll' }
  | { readonly redrivePermission: 'byQueue'; readonly sourceQueueArns: readonly string[] }

export function readRedrivePolicy(text: string, fifo: boolean): RedrivePolicy {
  const refuse = (reason: string) => refusedPolicy('RedrivePolicy', text, reason)
  const policy = jsonObject(text) ?? refuse('Redrive policy is not a valid JSON map.')
  const { deadLetterTargetArn, maxReceiveCount, ...others } = policy
  if (deadLetterTargetArn === undefined || maxReceiveCount === undefined) {
    const absent = deadLetterTargetArn === undefined ? 'deadLetterTargetArn' : 'maxReceiveCount'
    return refuse(`Redrive policy does not contain mandatory attribute: ${absent}.`)
  }
  if (Object.keys(others).length > 0) {
    return refuse('Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].')
  }
  const target = typeof deadLetterTargetArn === 'string' ? nameFromArn(deadLetterTargetArn) : undefined
  if (typeof deadLetterTargetArn !== 'string' || target === undefined) {
    return refuse('Invalid value for deadLetterTargetArn: it must be the ARN of a queue.')
  }
  const count = wholeNumber(maxReceiveCount)
  if (count === undefined || count < 1 || count > sqsLimits.maxReceiveCountMax) {
    const valid = `valid values are from 1 to ${sqsLimits.maxReceiveCountMax} both inclusive.`
    return refuse(`Invalid value for maxReceiveCount: ${echoed(JSON.stringify(maxReceiveCount))}, ${valid}`)
  }
  if (isFifoName(target) !== fifo) return refuse('Dead-letter queue must be same type of queue as the source.')
  return { deadLetterTargetArn, maxReceiveCount: count }
}

export function readRedriveAllowPolicy(text: string): RedriveAllowPolicy {
  const refuse = (reason: string) =>
    refusedPolicy('RedriveAllowPolicy', text, `Amazon SQS can't create the redrive allow policy. ${reason}`)
  const policy = jsonObject(text) ?? refuse('It is not a valid JSON map.')
  const { redrivePermission, sourceQueueArns, ...others } = policy
  if (Object.keys(others).length > 0) return refuse('It can contain only redrivePermission and sourceQueueArns.')
  switch (redrivePermission) {
    case 'allowAll':
    case 'denyAll':
      if (sourceQueueArns === undefined) return { redrivePermission }
      return refuse('To specify one or more source queue ARNs, you must set redrivePermission to byQueue.')
    case 'byQueue':
      return { redrivePermission, sourceQueueArns: sourceArns(sourceQueueArns, refuse) }
    default:
      return refuse('redrivePermission must be allowAll, denyAll or byQueue.')
  }
}

function sourceArns(value: unknown, refuse: (reason: string) => never): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) {
    return refuse(
      'When you specify the byQueue permission type, you must also specify one or more sourceQueueArns values.',
    )
  }
  if (value.length > sqsLimits.redriveSourcesMax) {
    return refuse(`You can specify up to ${sqsLimits.redriveSourcesMax} sourceQueueArns values.`)
  }
  const isArn = (arn: unknown): arn is string => typeof arn === 'string' && nameFromArn(arn) !== undefined
  return value.every(isArn) ? value : refuse('Every one of sourceQueueArns must be the ARN of a queue.')
}

/** Whether a queue may name the queue with this policy as its dead-letter queue. Without a policy, every queue may. */
export function allowsSource(policy: RedriveAllowPolicy | null, sourceArn: string): boolean {
  if (policy === null || policy.redrivePermission === 'allowAll') return true
  return policy.redrivePermission === 'byQueue' && policy.sourceQueueArns.includes(sourceArn)
}

function refusedPolicy(attribute: string, text: string, reason: string): never {
  throw new SqsError(
    'InvalidAttributeValue',
    `Value ${echoed(text)} for parameter ${attribute} is invalid. Reason: ${reason}`,
  )
}

/** AWS takes the number also as text, and many tools write it so. */
function wholeNumber(value: unknown): number | undefined {
  if (typeof value === 'string') return /^\d{1,9}$/.test(value) ? Number(value) : undefined
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined
}

export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
