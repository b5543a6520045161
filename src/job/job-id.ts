import { V7Generator } from 'uuidv7'
import { FencepostError, shown } from '../errors.js'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Asked for once in a while, not for every id or two: that takes longer than the rest of an id. */
const random = new Uint32Array(1_024)
let used = random.length
const nextUint32 = (): number => {
  if (used === random.length) {
    crypto.getRandomValues(random)
    used = 0
  }
  return random[used++] as number
}

const ids = new V7Generator({ nextUint32 })

const digits = Buffer.from('0123456789abcdef')
const text = Buffer.from('00000000-0000-0000-0000-000000000000')
/** Where in the text each byte of an id is. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/**
 * Made by the caller's process, so that an enqueue whose reply was lost can be repeated under the same id. Its text is made in
 * one piece: put together digit by digit, it left a kilobyte of garbage behind, and was copied once more when it was sent.
 */
export function newJobId(): string {
  const { bytes } = ids.generate()
  for (let n = 0; n < 16; n++) {
    const [byte, at] = [bytes[n] as number, places[n] as number]
    text[at] = digits[byte >>> 4] as number
    text[at + 1] = digits[byte & 15] as number
  }
  return text.toString('latin1')
}

export function checkedJobId(value: unknown): string {
  if (typeof value !== 'string' || !uuid.test(value)) {
    throw new FencepostError('FP_ID_INVALID', shown(value))
  }
  return value.toLowerCase()
}
