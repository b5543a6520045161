import type { Json } from '../job/json.js'
import type { MessageAttributes } from './rules/message-attributes.js'

/** What is stored of a message, as the payload of its job. */
export interface StoredMessage {
  /** As it was sent, to the byte: its digest is compared. */
  readonly body: string
  /** The access key that sent it. */
  readonly sender: string
  readonly attributes?: Readonly<Record<string, StoredAttribute>>
  readonly traceHeader?: string
  readonly groupId?: string
  readonly deduplicationId?: string
}

interface StoredAttribute {
  readonly type: string
  readonly text?: string
  readonly base64?: string
}

/** One key that tells a message from the payload of any other job. */
const key = '$message'

export function envelopeOf(message: StoredMessage): object {
  return { [key]: message }
}

/** A job that was enqueued elsewhere is a message, too: its payload as JSON. */
export function messageOf(payload: Json): StoredMessage {
  return envelopedMessage(payload) ?? { body: JSON.stringify(payload), sender: 'fencepost' }
}

/** Undefined if the job was not sent as a message: anyone can enqueue a payload that looks like one. */
export function envelopedMessage(payload: unknown): StoredMessage | undefined {
  const message = isObject(payload) && Object.hasOwn(payload, key) ? payload[key] : undefined
  return isStoredMessage(message) ? message : undefined
}

function isStoredMessage(message: unknown): message is StoredMessage {
  if (!isObject(message)) return false
  const { body, sender, attributes = {}, traceHeader, groupId, deduplicationId } = message
  return (
    typeof body === 'string' &&
    typeof sender === 'string' &&
    [traceHeader, groupId, deduplicationId].every(isTextOrNone) &&
    isObject(attributes) &&
    Object.values(attributes).every(isStoredAttribute)
  )
}

function isStoredAttribute(attribute: unknown): boolean {
  if (!isObject(attribute)) return false
  const { type, text, base64 } = attribute
  return typeof type === 'string' && isTextOrNone(text) && isTextOrNone(base64)
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function storedAttributes(attributes: MessageAttributes): Record<string, StoredAttribute> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [
      name,
      'StringValue' in attribute
        ? { type: attribute.DataType, text: attribute.StringValue }
        : { type: attribute.DataType, base64: Buffer.from(attribute.BinaryValue).toString('base64') },
    ]),
  )
}

export function wireAttributes(
  stored: StoredMessage['attributes'],
  wanted: (name: string) => boolean,
): MessageAttributes {
  if (!stored) return {}
  return Object.fromEntries(
    Object.entries(stored)
      .filter(([name]) => wanted(name))
      .map(([name, { type, text, base64 }]) => [
        name,
        base64 === undefined
          ? { DataType: type, StringValue: text ?? '' }
          : { DataType: type, BinaryValue: Buffer.from(base64, 'base64') },
      ]),
  )
}
