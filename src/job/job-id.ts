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

/** Made by the caller's process, so that an enqueue whose reply was lost can be repeated under the same id. */
export function newJobId(): string {
  return ids.generate().toString()
}

export function checkedJobId(value: unknown): string {
  if (typeof value !== 'string' || !uuid.test(value)) {
    throw new FencepostError('FP_ID_INVALID', shown(value))
  }
  return value.toLowerCase()
}
