import { SqsError } from '../sqs-error.js'
import { isAttributeNumber } from './attribute-number.js'
import { allowedCharacters, echoed, firstRefusedCharacter } from './characters.js'
import { sqsLimits } from './limits.js'

/** As the wire hands it over, by the names of the API. */
export interface AttributeInput {
  readonly DataType?: string | undefined
  readonly StringValue?: string | undefined
  readonly BinaryValue?: Uint8Array | undefined
  readonly StringListValues?: readonly string[] | undefined
  readonly BinaryListValues?: readonly Uint8Array[] | undefined
}

export type AttributeInputs = Readonly<Record<string, AttributeInput>>

/** Checked: exactly one of the values is there, and not empty. */
type MessageAttribute =
  | { readonly DataType: string; readonly StringValue: string }
  | { readonly DataType: string; readonly BinaryValue: Uint8Array }

export type MessageAttributes = Readonly<Record<string, MessageAttribute>>

export function checkedMessageAttributes(inputs: AttributeInputs = {}): MessageAttributes {
  const entries = Object.entries(inputs)
  if (entries.length > sqsLimits.messageAttributesMax) {
    const allowed = `exceeds the allowed maximum [${sqsLimits.messageAttributesMax}].`
    throw invalid(`Number of message attributes [${entries.length}] ${allowed}`)
  }
  for (const [name] of entries) checkName(name)
  // fromEntries, since `__proto__` is a name that clients may choose.
  return Object.fromEntries(entries.map(([name, input]) => [name, checkedAttribute(name, input, 'user')]))
}

/** The trace header, which is the only system attribute that a sender can give. */
export function checkedTraceHeader(inputs: AttributeInputs = {}): string | undefined {
  const unknown = Object.keys(inputs).find((name) => name !== 'AWSTraceHeader')
  if (unknown !== undefined) {
    throw invalid(`Message system attribute name '${echoed(unknown)}' is invalid. The only one is AWSTraceHeader.`)
  }
  const input = inputs['AWSTraceHeader']
  if (input === undefined) return undefined
  if (input.DataType !== 'String') {
    throw invalid(
      "The type of message (system) attribute 'AWSTraceHeader' is invalid. You must use only the type String.",
    )
  }
  const attribute = checkedAttribute('AWSTraceHeader', input, 'system')
  const header = 'StringValue' in attribute ? attribute.StringValue : ''
  if (Buffer.byteLength(header) > sqsLimits.traceHeaderBytesMax) {
    const limit = `can have at most ${sqsLimits.traceHeaderBytesMax} bytes.`
    throw invalid(`Message (system) attribute 'AWSTraceHeader' ${limit}`)
  }
  return header
}

function checkName(name: string): void {
  if (name === '') throw invalid('The request must contain non-empty message attribute name.')
  if (name.length > sqsLimits.attributeNameLengthMax) {
    throw invalid(`Message attribute name can have at most ${sqsLimits.attributeNameLengthMax} characters.`)
  }
  const strange = /[^A-Za-z0-9_.-]/u.exec(name)?.[0]
  if (strange !== undefined) {
    const code = `#x${strange.codePointAt(0)?.toString(16).toUpperCase()}`
    throw invalid(
      `Invalid non-alphanumeric character '${code}' was found in the message attribute name. Can only include alphanumeric characters, hyphens, underscores, or dots.`,
    )
  }
  if (name.startsWith('.')) throw invalid("Invalid message attribute name starting with character '.' was found.")
  if (name.endsWith('.')) throw invalid("Invalid message attribute name ending with character '.' was found.")
  if (name.includes('..')) throw invalid("Message attribute name can not have successive '.' character.")
  if (/^(aws|amazon)\./i.test(name)) {
    throw invalid(
      "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for internal use.",
    )
  }
}

function checkedAttribute(name: string, input: AttributeInput, of: 'user' | 'system'): MessageAttribute {
  const attribute = `message (${of}) attribute '${name}'`
  const logical = logicalType(input.DataType, attribute)
  const DataType = input.DataType as string
  if (input.StringListValues?.length || input.BinaryListValues?.length) {
    throw invalid(`The ${attribute} has a list of values. Lists are not supported.`)
  }
  const text = input.StringValue ?? ''
  const bytes = input.BinaryValue ?? new Uint8Array()
  if (text !== '' && bytes.length > 0) throw invalid(`The ${attribute} has multiple values.`)
  if (logical === 'Binary' ? bytes.length === 0 : text === '') {
    throw invalid(`Message (${of}) attribute '${name}' must contain a non-empty value of type '${echoed(DataType)}'.`)
  }
  if (logical === 'Binary') return { DataType, BinaryValue: bytes }
  checkCharacters(text, `value of the ${attribute}`)
  if (logical === 'Number' && !isAttributeNumber(text)) {
    const { numberDigitsMax, numberExponentMin, numberExponentMax } = sqsLimits
    const allowed = `A number has up to ${numberDigitsMax} digits and lies between 10^${numberExponentMin} and 10^${numberExponentMax}.`
    throw invalid(`Can't cast the value of ${attribute} to a number. ${allowed}`)
  }
  return { DataType, StringValue: text }
}

/** The part of a type before its label: AWS keeps `Number.int` as it is, and knows only the Number in it. */
function logicalType(type: string | undefined, attribute: string): 'String' | 'Number' | 'Binary' {
  if (type === undefined || type === '')
    throw invalid(`The ${attribute} must contain non-empty message attribute type.`)
  if (type.length > sqsLimits.attributeTypeLengthMax) {
    throw invalid(`The type of ${attribute} can have at most ${sqsLimits.attributeTypeLengthMax} characters.`)
  }
  checkCharacters(type, `type of the ${attribute}`)
  const logical = /^(String|Number|Binary)(?:\..+)?$/s.exec(type)?.[1]
  if (logical === undefined) {
    throw invalid(
      `The type of ${attribute} is invalid. You must use only the following supported type prefixes: Binary, Number, String.`,
    )
  }
  return logical as 'String' | 'Number' | 'Binary'
}

function checkCharacters(text: string, where: string): void {
  const refused = firstRefusedCharacter(text)
  if (refused === undefined) return
  throw invalid(
    `Invalid binary character '${refused.name}' was found in the ${where} at character ${refused.offset}, the set of allowed characters is ${allowedCharacters}.`,
  )
}

function invalid(text: string): SqsError {
  return new SqsError('InvalidParameterValueException', text)
}
