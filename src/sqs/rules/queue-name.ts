import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'
import { sqsLimits } from './limits.js'
import { missingParameter } from './parameter-errors.js'

export const defaultRegion = 'us-east-1'
export const defaultAccount = '000000000000'

const wellFormed = /^[A-Za-z0-9_-]+(\.fifo)?$/
const queueUrlPath = /^\/(?:(?:\d{12}|queue)\/)?([^/]+)$/
const queueArnForm = /^arn:aws[a-z-]*:sqs:[a-z0-9-]+:\d{12}:(.+)$/

function isQueueName(name: string): boolean {
  return name.length <= sqsLimits.queueNameLengthMax && wellFormed.test(name)
}

/** The name decides, once and for all: only FIFO queues may, and must, end in `.fifo`. */
export function isFifoName(name: string): boolean {
  return name.endsWith('.fifo')
}

export function checkedQueueName(name: string | undefined): string {
  if (name === undefined || name === '') throw missingParameter('QueueName')
  if (isQueueName(name)) return name
  throw new SqsError('InvalidParameterValueException', isFifoName(name) ? fifoNameText : standardNameText)
}

export const standardNameText = `Can only include alphanumeric characters, hyphens, or underscores. 1 to ${sqsLimits.queueNameLengthMax} in length. Only the name of a FIFO queue ends with .fifo.`

export const fifoNameText = `The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to ${sqsLimits.queueNameLengthMax} in length.`

export function queueUrl(baseUrl: string, name: string, account: string = defaultAccount): string {
  return `${baseUrl.replace(/\/$/, '')}/${account}/${name}`
}

/**
 * Clients reach the endpoint by different hosts (a service name, localhost, a load balancer), and bring URLs with the
 * account they had at AWS: only the last part of the path says which queue.
 */
export function nameFromUrl(url: string | undefined): string {
  if (url === undefined || url === '') throw missingParameter('QueueUrl')
  const name = queueUrlPath.exec(pathOf(url) ?? '')?.[1]
  if (name !== undefined && isQueueName(name)) return name
  throw new SqsError('InvalidAddress', `The address ${echoed(url)} is not valid for this endpoint.`)
}

function pathOf(url: string): string | undefined {
  const base = 'http://endpoint.invalid'
  return URL.canParse(url, base) ? new URL(url, base).pathname : undefined
}

export function queueArn(name: string, region: string = defaultRegion, account: string = defaultAccount): string {
  return `arn:aws:sqs:${region}:${account}:${name}`
}

/** Undefined if it is not the ARN of a queue: what to say then differs from caller to caller. */
export function nameFromArn(arn: string): string | undefined {
  const name = queueArnForm.exec(arn)?.[1]
  return name !== undefined && isQueueName(name) ? name : undefined
}
