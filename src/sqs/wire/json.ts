import { SqsError } from '../sqs-error.js'
import { decodeBase64, decodeMembers, decodeUtf8, isInRange, knownAction, missingParameter, under } from './decode.js'
import type { DecodedRequest, HttpAnswer, HttpRequest } from './http-message.js'
import { type ActionName, actions } from './model.js'
import type { Member, Members, Shape, WireOutput, WireValue } from './shape.js'

/** The AWS JSON 1.0 protocol: the action in a header, the input as the body. */

const contentType = 'application/x-amz-json-1.0'
const service = 'AmazonSQS'

const isBlob = (shape: Shape): boolean =>
  shape.kind === 'blob' ||
  (shape.kind === 'list' && isBlob(shape.item)) ||
  (shape.kind === 'map' && isBlob(shape.value)) ||
  (shape.kind === 'structure' && Object.values(shape.members).some((member) => isBlob(member.shape)))

export function decodeJsonRequest(request: Pick<HttpRequest, 'headers' | 'body'>): DecodedRequest {
  const action = targetAction(request.headers['x-amz-target'])
  const body = parseBody(request.body)
  if (!isObject(body)) throw unexpected(body, 'a structure', '')
  const input = decodeMembers(actions[action].input, '', (name, member, path) => decode(member.shape, body[name], path))
  return { protocol: 'json', action, input } as DecodedRequest
}

export function encodeJsonOutput(action: ActionName, output: WireOutput, requestId: string): HttpAnswer {
  const members: Members = actions[action].output
  return answer(200, encodeFields(members, output), requestId)
}

export function encodeJsonError(error: SqsError, requestId: string): HttpAnswer {
  const body = { __type: `com.amazonaws.sqs#${error.shape}`, message: error.message }
  // SDKs that spoke the query protocol before go on to show its codes, which programs match on.
  const queryError = `${error.queryCode};${error.senderFault ? 'Sender' : 'Receiver'}`
  return answer(error.status, body, requestId, { 'x-amzn-query-error': queryError })
}

function answer(status: number, body: unknown, requestId: string, headers: Record<string, string> = {}): HttpAnswer {
  return {
    status,
    headers: { 'content-type': contentType, 'x-amzn-requestid': requestId, ...headers },
    body: JSON.stringify(body),
  }
}

function targetAction(target: string | string[] | undefined): ActionName {
  if (typeof target !== 'string' || target === '') throw missingParameter('X-Amz-Target')
  const [prefix, name, ...rest] = target.split('.')
  if (prefix !== service || name === undefined || rest.length > 0) return knownAction(target)
  return knownAction(name)
}

function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return {}
  const text = decodeUtf8(bytes)
  if (text === undefined) throw new SqsError('SerializationException', 'The body of the request is not valid UTF-8.')
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new SqsError('SerializationException', 'The body of the request is not valid JSON.', { cause })
  }
}

/** `null` is what some clients write for a member that is not there. */
function decode(shape: Shape, value: unknown, path: string): WireValue | undefined {
  return value === undefined || value === null ? undefined : decodeValue(shape, value, path)
}

function decodeValue(shape: Shape, value: unknown, path: string): WireValue {
  switch (shape.kind) {
    case 'string':
      if (typeof value === 'string') return value
      throw unexpected(value, 'a String', path)
    case 'integer':
    case 'long':
      if (typeof value === 'number' && isInRange(shape.kind, value)) return value
      throw unexpected(value, shape.kind === 'long' ? 'a Long' : 'an Integer', path)
    case 'boolean':
      if (typeof value === 'boolean') return value
      throw unexpected(value, 'a Boolean', path)
    case 'blob': {
      const bytes = typeof value === 'string' ? decodeBase64(value) : undefined
      if (bytes) return bytes
      throw unexpected(value, 'a Blob in base64', path)
    }
    case 'list':
      if (Array.isArray(value)) return value.map((item, i) => decodeValue(shape.item, item, under(path, i + 1)))
      throw unexpected(value, 'a list', path)
    case 'map':
      if (!isObject(value)) throw unexpected(value, 'a map', path)
      // fromEntries and not assignment: `__proto__` is a name that a message attribute may have.
      return Object.fromEntries(
        Object.entries(value).map(([key, item], i) => [
          key,
          decodeValue(shape.value, item, under(path, `${i + 1}.Value`)),
        ]),
      )
    default:
      if (!isObject(value)) throw unexpected(value, 'a structure', path)
      return decodeMembers(shape.members, path, (name, member, memberPath) =>
        decode(member.shape, value[name], memberPath),
      )
  }
}

function encodeFields(members: Members, fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  // Nearly no message has attributes, and only those have bytes.
  if (blobsOf(members).every((name) => fields[name] === undefined)) return fields
  const encoded: Record<string, unknown> = {}
  for (const name in fields) {
    const value = fields[name]
    const member = members[name]
    if (member && value !== undefined) encoded[name] = encodeValue(member.shape, value)
  }
  return encoded
}

const blobNames = new WeakMap<Members, readonly string[]>()

function blobsOf(members: Members): readonly string[] {
  const known = blobNames.get(members)
  if (known) return known
  const names = Object.keys(members).filter((name) => isBlob((members[name] as Member).shape))
  blobNames.set(members, names)
  return names
}

/** The types of the table have already said that the value fits its shape. */
function encodeValue(shape: Shape, value: unknown): unknown {
  switch (shape.kind) {
    case 'blob':
      return Buffer.from(value as Uint8Array).toString('base64')
    case 'list':
      return (value as readonly unknown[]).map((item) => encodeValue(shape.item, item))
    case 'map':
      if (!isBlob(shape.value)) return value
      return Object.fromEntries(
        Object.entries(value as object).map(([key, item]) => [key, encodeValue(shape.value, item)]),
      )
    case 'structure':
      return encodeFields(shape.members, value as Readonly<Record<string, unknown>>)
    default:
      return value
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unexpected(value: unknown, wanted: string, path: string): SqsError {
  const where = path === '' ? '' : ` (${path})`
  return new SqsError('SerializationException', `${kindOf(value)} can not be converted to ${wanted}${where}`)
}

/** The names that the parser of the service gives to what it meets. */
function kindOf(value: unknown): string {
  if (value === null) return 'NULL_VALUE'
  if (Array.isArray(value)) return 'START_ARRAY'
  switch (typeof value) {
    case 'string':
      return 'STRING_VALUE'
    case 'number':
      return Number.isInteger(value) ? 'NUMBER_VALUE' : 'DECIMAL_VALUE'
    case 'boolean':
      return value ? 'TRUE_VALUE' : 'FALSE_VALUE'
    default:
      return 'START_OBJECT'
  }
}
