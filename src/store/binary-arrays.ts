/**
 * Arrays as PostgreSQL has them on the wire: a Buffer is sent as it is, and the server copies what it would otherwise read from text,
 * an id by sixteen conversions of two digits. For what is told of every job.
 */
const oids = { uuid: 2950, bigint: 20 }
/** Dimensions, whether there are nulls, the type, the number of elements, the index of the first. */
const headBytes = 20

function head(oid: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes)
  for (const [n, value] of [1, 0, oid, length, 1].entries()) bytes.writeInt32BE(value, 4 * n)
  return bytes
}

/** In hexadecimal as a whole, and turned into bytes at once: a piece of it for each id would be garbage. */
export function uuidArray(ids: readonly string[]): Buffer {
  const length = '00000010' // of what follows: 16 bytes
  const texts = ids.length === 0 ? '' : `${length}${ids.join(length)}`.replaceAll('-', '')
  return Buffer.concat([head(oids.uuid, ids.length), Buffer.from(texts, 'hex')])
}

/** Of whole numbers that a JavaScript number can hold. */
export function bigintArray(values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + 12 * values.length)
  head(oids.bigint, values.length).copy(bytes)
  let at = headBytes
  for (const value of values) {
    const high = Math.floor(value / 2 ** 32)
    bytes.writeInt32BE(8, at)
    bytes.writeInt32BE(high, at + 4)
    bytes.writeUInt32BE(value - high * 2 ** 32, at + 8)
    at += 12
  }
  return bytes
}
