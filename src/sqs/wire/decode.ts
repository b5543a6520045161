import { SqsError } from '../sqs-error.js'
import { type ActionName, isActionName } from './model.js'
import type { Member, Members, WireFields, WireValue } from './shape.js'

/** Reads the members of a structure in the order of the table; what the table does not name is never looked at. */
export function decodeMembers(
  members: Members,
  path: string,
  read: (name: string, member: Member, path: string) => WireValue | undefined,
): WireFields {
  const fields: Record<string, WireValue> = {}
  for (const name in members) {
    const member = members[name] as Member
    const memberPath = under(path, member.query ?? name)
    const value = read(name, member, memberPath)
    if (name === 'Entries' && isNone(value)) throw emptyBatch(memberPath)
    if (value !== undefined) fields[name] = value
    else if (member.required) throw missingParameter(memberPath)
  }
  return fields
}

/** Errors name a parameter by its path in the query protocol, in either protocol: `SendMessageBatchRequestEntry.2.Id`. */
export function under(path: string, step: string | number): string {
  return path === '' ? String(step) : `${path}.${step}`
}

export function missingParameter(path: string): SqsError {
  return new SqsError('MissingParameterException', `The request must contain the parameter ${path}.`)
}

/** A batch of none and no batch are the same. */
function isNone(value: WireValue | undefined): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

function emptyBatch(path: string): SqsError {
  return new SqsError('EmptyBatchRequest', `There should be at least one ${path} in the request.`)
}

export function knownAction(name: string): ActionName {
  if (isActionName(name)) return name
  throw new SqsError('InvalidAction', `The action ${name.slice(0, 100)} is not valid for this endpoint.`)
}

/** Buffer.from() skips what is not base64; only text that it would write itself is taken. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

const integerMax = 2 ** 31 - 1

export function isInRange(kind: 'integer' | 'long', value: number): boolean {
  return kind === 'long'
    ? Number.isSafeInteger(value)
    : Number.isInteger(value) && value >= -integerMax - 1 && value <= integerMax
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Undefined for bytes that are not UTF-8: to replace them would store another message than was sent. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
