import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeReceipt, encodeReceipt, type Receipt } from '../../../src/sqs/rules/receipt-handle.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const safe = fc.maxSafeNat()
const receipts: fc.Arbitrary<Receipt> = fc.record({
  queueId: safe,
  jobId: fc.uuid(),
  leaseId: safe,
  nonce: safe,
  tries: fc.nat(2 ** 31 - 1),
})
const one: Receipt = {
  queueId: 7,
  jobId: '0199c7a0-1234-7abc-8def-0123456789ab',
  leaseId: 42,
  nonce: 123_456_789,
  tries: 1,
}

describe('a receipt handle', () => {
  it('leads back to what it was made of, and is short and safe in a URL', () => {
    fc.assert(
      fc.property(receipts, (receipt) => {
        const text = encodeReceipt(receipt)
        expect(text).toMatch(/^[A-Za-z0-9_-]{66}$/)
        expect(decodeReceipt(text)).toEqual(receipt)
      }),
    )
  })

  it.each<Partial<Receipt>>([
    { queueId: 0, leaseId: 0, nonce: 0, tries: 0 },
    { queueId: Number.MAX_SAFE_INTEGER, leaseId: Number.MAX_SAFE_INTEGER, nonce: Number.MAX_SAFE_INTEGER },
    { tries: 2 ** 31 - 1 },
    { jobId: '00000000-0000-0000-0000-000000000000' },
    { jobId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
  ])('holds %j', (parts) => {
    expect(decodeReceipt(encodeReceipt({ ...one, ...parts }))).toEqual({ ...one, ...parts })
  })

  it('stays what it is from version to version: clients keep handles over a deployment', () => {
    expect(encodeReceipt(one)).toBe('AQAAAAAAAAAHAZnHoBI0eryN7wEjRWeJqwAAAAAAAAAqAAAAAAdbzRUAAAABPhq9fg')
  })

  it('writes the id of the job in small letters', () => {
    expect(decodeReceipt(encodeReceipt({ ...one, jobId: one.jobId.toUpperCase() }))).toEqual(one)
  })

  it.each<Partial<Receipt>>([
    { queueId: -1 },
    { queueId: 2 ** 53 },
    { leaseId: 0.5 },
    { nonce: Number.NaN },
    { tries: -1 },
    { tries: 2 ** 31 },
    { jobId: 'x' },
    { jobId: `${one.jobId}0` },
  ])('is not made of %j, which would be a bug', (parts) => {
    expect(() => encodeReceipt({ ...one, ...parts })).toThrow(RangeError)
  })
})

describe('what is no receipt handle', () => {
  const handle = encodeReceipt(one)
  const said = (text: string) =>
    `ReceiptHandleIsInvalid: The input receipt handle "${text}" is not a valid receipt handle.`

  it.each(['', 'x', handle.slice(0, -1), handle.slice(1), `${handle}A`, ` ${handle}`, `${handle}\n`, `${handle}==`])(
    'is refused: %j',
    (text) => {
      expect(refusedWith(() => decodeReceipt(text))).toBe(said(text))
    },
  )

  it('is refused after any change of one character', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let at = 0; at < handle.length; at++) {
      for (const other of alphabet) {
        const changed = handle.slice(0, at) + other + handle.slice(at + 1)
        if (changed !== handle) expect(refusedWith(() => decodeReceipt(changed))).toBe(said(changed))
      }
    }
  })

  it.each([
    ['another version', 0, 2],
    ['a queue beyond 2^53', 2, 0x20],
    ['a lease beyond 2^53', 26, 0x20],
    ['a nonce beyond 2^53', 34, 0x20],
    ['tries beyond 2^31', 41, 0x80],
  ])('is refused also with the right checksum: %s', (_, at, byte) => {
    const bytes = Buffer.from(handle, 'base64url')
    bytes[at] = byte
    createHash('sha256').update(bytes.subarray(0, 45)).digest().copy(bytes, 45, 0, 4)
    const forged = bytes.toString('base64url')
    expect(refusedWith(() => decodeReceipt(forged))).toBe(said(forged))
  })

  it('is refused in the standard alphabet of base64', () => {
    const other = encodeReceipt({ ...one, jobId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' })
    expect(other).toContain('_')
    expect(refusedWith(() => decodeReceipt(other.replaceAll('_', '/')))).toMatch(/^ReceiptHandleIsInvalid/)
  })

  it('is refused, whatever it is', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.stringMatching(/^[A-Za-z0-9_-]{66}$/))
    fc.assert(fc.property(text, (some) => takesOrRefuses(() => decodeReceipt(some))))
    expect(refusedWith(() => decodeReceipt('x'.repeat(100_000)))?.length).toBeLessThan(400)
  })
})
