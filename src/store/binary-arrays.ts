/**
 * Arrays as PostgreSQL has them on the wire: a Buffer is sent as it is, and the server copies what it would otherwise read from text,
 * an id by sixteen conversions of two digits. For what is told of every job. Ids are those that the database has told, or that were
 * made here.
 */
const oids = { uuid: 2950, bigint: 20 }
/** Dimensions, whether there are nulls, the type, the number of elements, the index of the first. */
const headBytes = 20
/** Where the pairs of digits of an id are, and what a digit is by its code. */
const pairs = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const
const digits = new Uint8Array(128)
for (let value = 0; value < 16; value++) {
  for (const digit of [value.toString(16), value.toString(16).toUpperCase()]) digits[digit.charCodeAt(0)] = value
}

/** Each element with its length before it; digit by digit, because pieces of the texts would be garbage. */
export function uuidArray(ids: readonly string[]): Buffer {
  const view = begun(oids.uuid, ids.length, 16)
  let at = headBytes
  for (const id of ids) {
    view.setInt32(at, 16)
    at += 4
    for (let n = 0; n < 16; n++) {
      const pair = pairs[n] as number
      view.setUint8(at++, ((digits[id.charCodeAt(pair)] ?? 0) << 4) | (digits[id.charCodeAt(pair + 1)] ?? 0))
    }
  }
  return Buffer.from(view.buffer)
}

/** Of whole numbers that a JavaScript number can hold. */
export function bigintArray(values: readonly number[]): Buffer {
  const view = begun(oids.bigint, values.length, 8)
  let at = headBytes
  for (const value of values) {
    const high = Math.floor(value / 2 ** 32)
    view.setInt32(at, 8)
    view.setInt32(at + 4, high)
    view.setUint32(at + 8, value - high * 2 ** 32)
    at += 12
  }
  return Buffer.from(view.buffer)
}

function begun(oid: number, length: number, elementBytes: number): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(headBytes + (4 + elementBytes) * length))
  for (const [n, value] of [1, 0, oid, length, 1].entries()) view.setInt32(4 * n, value)
  return view
}
