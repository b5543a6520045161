import { SqsError } from '../sqs-error.js'
import { firstRefusedCharacter } from './characters.js'
import { sqsLimits } from './limits.js'
import {
  jsonObject,
  type RedriveAllowPolicy,
  type RedrivePolicy,
  readRedriveAllowPolicy,
  readRedrivePolicy,
} from './redrive-policy.js'

/** How a setting of a queue is written in the string map of the wire. */
export interface AttributeForm<T> {
  /** Whether standard queues do not have it. */
  readonly fifoOnly: boolean
  read(text: string, attribute: string, fifo: boolean): T
  /** Undefined where the attribute is then not shown. */
  write(value: T): string | undefined
}

const forEveryQueue = { fifoOnly: false }

export function invalidAttribute(attribute: string, allowed: string): SqsError {
  return new SqsError('InvalidAttributeValue', `Invalid value for the parameter ${attribute}. Reason: ${allowed}`)
}

export function wholeNumberForm(min: number, max: number): AttributeForm<number> {
  return {
    ...forEveryQueue,
    read(text, attribute) {
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
      if (value >= min && value <= max) return value
      throw invalidAttribute(attribute, `It must be a whole number from ${min} to ${max}.`)
    },
    write: String,
  }
}

export const flagForm: AttributeForm<boolean> = {
  ...forEveryQueue,
  read(text, attribute) {
    const flag = text.toLowerCase()
    if (flag === 'true' || flag === 'false') return flag === 'true'
    throw invalidAttribute(attribute, 'It must be true or false.')
  },
  write: String,
}

export function choiceForm<const T extends string>(choices: readonly T[]): AttributeForm<T> {
  return {
    ...forEveryQueue,
    read(text, attribute) {
      const choice = choices.find((one) => one === text)
      if (choice !== undefined) return choice
      throw invalidAttribute(attribute, `It must be ${choices.join(' or ')}.`)
    },
    write: (value) => value,
  }
}

/** The empty text removes the setting. */
function removableForm<T>(
  read: (text: string, attribute: string, fifo: boolean) => T,
  write: (value: T) => string,
): AttributeForm<T | null> {
  return {
    ...forEveryQueue,
    read: (text, attribute, fifo) => (text === '' ? null : read(text, attribute, fifo)),
    write: (value) => (value === null ? undefined : write(value)),
  }
}

export const policyForm = removableForm<string>(
  (text, attribute) => {
    if (Buffer.byteLength(text) > sqsLimits.policyBytesMax) {
      throw invalidAttribute(attribute, `A policy can have at most ${sqsLimits.policyBytesMax} bytes.`)
    }
    if (jsonObject(text) === undefined) throw invalidAttribute(attribute, 'A policy must be a valid JSON object.')
    return text
  },
  (text) => text,
)

export const redrivePolicyForm = removableForm<RedrivePolicy>(
  (text, _attribute, fifo) => readRedrivePolicy(text, fifo),
  JSON.stringify,
)

export const redriveAllowPolicyForm = removableForm<RedriveAllowPolicy>(readRedriveAllowPolicy, JSON.stringify)

export const keyIdForm = removableForm<string>(
  (text, attribute) => {
    if (text.length <= sqsLimits.kmsKeyIdLengthMax && firstRefusedCharacter(text) === undefined) return text
    throw invalidAttribute(
      attribute,
      `It must be the name of a key of up to ${sqsLimits.kmsKeyIdLengthMax} characters.`,
    )
  },
  (text) => text,
)

export function fifoOnly<T>(form: AttributeForm<T>): AttributeForm<T> {
  return { ...form, fifoOnly: true }
}
