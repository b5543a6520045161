import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'
import { sqsLimits } from './limits.js'

export function missingParameter(name: string): SqsError {
  return new SqsError('MissingParameterException', `The request must contain the parameter ${name}.`)
}

export function invalidParameter(name: string, value: string | number, reason: string): SqsError {
  const text = `Value ${echoed(String(value))} for parameter ${name} is invalid. Reason: ${reason}`
  return new SqsError('InvalidParameterValueException', text)
}

/** A parameter that only queues of the other type, FIFO or standard, have. */
export function wrongQueueType(name: string, value: string | number): SqsError {
  return invalidParameter(name, value, 'The request include parameter that is not valid for this queue type.')
}

export function isWholeNumber(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max
}

/** Letters, digits and punctuation of ASCII: everything between the space and DEL. */
const token = new RegExp(`^[!-~]{1,${sqsLimits.tokenLengthMax}}$`)

/** A MessageGroupId, MessageDeduplicationId or ReceiveRequestAttemptId. */
export function checkToken(name: string, value: string): void {
  if (token.test(value)) return
  throw invalidParameter(
    name,
    value,
    `${name} can only include alphanumeric and punctuation characters. 1 to ${sqsLimits.tokenLengthMax} in length.`,
  )
}
