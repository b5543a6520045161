import { uuidv7 } from 'uuidv7'
import { FencepostError, shown } from '../errors.js'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Made by the caller's process, so that an enqueue whose reply was lost can be repeated under the same id. */
export const newJobId: () => string = uuidv7

export function checkedJobId(value: unknown): string {
  if (typeof value !== 'string' || !uuid.test(value)) {
    throw new FencepostError('FP_ID_INVALID', shown(value))
  }
  return value.toLowerCase()
}
