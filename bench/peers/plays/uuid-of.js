// The same key makes the same UUID, for the queues whose idempotency key is the id of the job.
import { createHash } from 'node:crypto'

export function uuidOf(key) {
  const hex = createHash('sha256').update(key).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
