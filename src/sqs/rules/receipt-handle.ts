import { crc32 } from 'node:zlib'
import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'

/** What a receipt handle says: which receive of which message. */
export interface Receipt {
  readonly queueId: number
  readonly jobId: string
  readonly leaseId: number
  /** Random, and compared with the database's: it is what nobody can guess. */
  readonly nonce: number
  readonly tries: number
}

/**
 * 49 bytes, 66 characters of base64url:
 *
 *     0        1         9        25        33       41      45         49
 *     | version | queueId | jobId  | leaseId | nonce  | tries | checksum |
 *
 * The checksum finds handles that were cut or mistyped; it keeps no one from making one up.
 */
const version = 1
const at = { queueId: 1, jobId: 9, leaseId: 25, nonce: 33, tries: 41, checksum: 45, end: 49 } as const
const form = /^[A-Za-z0-9_-]{66}$/
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const triesMax = 2 ** 31 - 1

export function encodeReceipt(receipt: Receipt): string {
  const { queueId, jobId, leaseId, nonce, tries } = receipt
  if (!isReceipt(receipt)) throw new RangeError(`no receipt handle can hold ${JSON.stringify(receipt)}`)
  const bytes = Buffer.alloc(at.end)
  bytes.writeUInt8(version, 0)
  writeSafeInteger(bytes, queueId, at.queueId)
  bytes.write(jobId.replaceAll('-', ''), at.jobId, 'hex')
  writeSafeInteger(bytes, leaseId, at.leaseId)
  writeSafeInteger(bytes, nonce, at.nonce)
  bytes.writeUInt32BE(tries, at.tries)
  bytes.writeUInt32BE(checksum(bytes), at.checksum)
  return bytes.toString('base64url')
}

export function decodeReceipt(text: string): Receipt {
  const receipt = readReceipt(text)
  if (receipt !== undefined) return receipt
  throw new SqsError(
    'ReceiptHandleIsInvalid',
    `The input receipt handle "${echoed(text)}" is not a valid receipt handle.`,
  )
}

function readReceipt(text: string): Receipt | undefined {
  if (!form.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  // The last character has bits to spare: of the texts for the same bytes only one is a handle.
  if (bytes.toString('base64url') !== text || bytes[0] !== version) return undefined
  if (checksum(bytes) !== bytes.readUInt32BE(at.checksum)) return undefined
  const hex = bytes.toString('hex', at.jobId, at.leaseId)
  const receipt = {
    queueId: readInteger(bytes, at.queueId),
    jobId: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
    leaseId: readInteger(bytes, at.leaseId),
    nonce: readInteger(bytes, at.nonce),
    tries: bytes.readUInt32BE(at.tries),
  }
  return isReceipt(receipt) ? receipt : undefined
}

function isReceipt({ queueId, jobId, leaseId, nonce, tries }: Receipt): boolean {
  const fits = isSafe(queueId) && isSafe(leaseId) && isSafe(nonce)
  return fits && uuid.test(jobId) && Number.isInteger(tries) && tries >= 0 && tries <= triesMax
}

function isSafe(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** In eight bytes, by halves: with a BigInt for each, handles took half as long again. */
function writeSafeInteger(bytes: Buffer, value: number, offset: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), offset)
  bytes.writeUInt32BE(value % 2 ** 32, offset + 4)
}

/** Not exact, and then not safe, beyond what a number can hold. */
function readInteger(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset) * 2 ** 32 + bytes.readUInt32BE(offset + 4)
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(0, at.checksum))
}
