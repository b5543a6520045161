import { createHash, hash } from 'node:crypto'
import type { MessageAttributeValue } from './model.js'

/** The digests that SDKs compute of what they sent and compare with what they are told. */

export function md5OfBody(body: string): string {
  return hash('md5', body)
}

const stringTransport = Uint8Array.of(1)
const binaryTransport = Uint8Array.of(2)

/**
 * Of message attributes or system attributes: by name, each part with its length before it. Undefined for none, as
 * the answer then has no such member.
 */
export function md5OfAttributes(
  attributes: Readonly<Record<string, MessageAttributeValue>> | undefined,
): string | undefined {
  const names = Object.keys(attributes ?? {}).sort()
  if (!attributes || names.length === 0) return undefined
  const digest = createHash('md5')
  const add = (part: string | Uint8Array) => {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.byteLength)
    digest.update(length).update(bytes)
  }
  for (const name of names) {
    const attribute = attributes[name]
    if (!attribute) continue
    add(name)
    add(attribute.DataType)
    // `Binary.png` travels as bytes, too: what follows the dot is the sender's own label.
    const binary = attribute.DataType.startsWith('Binary')
    digest.update(binary ? binaryTransport : stringTransport)
    add(binary ? (attribute.BinaryValue ?? new Uint8Array()) : (attribute.StringValue ?? ''))
  }
  return digest.digest('hex')
}
