import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'

/** Short, because it is written with every lease and every outcome; of a long host's name its end tells more. */
export function newWorkerId(): string {
  const unique = randomInt(36 ** 6)
    .toString(36)
    .padStart(6, '0')
  return `${hostname().slice(-10)}/${process.pid}/${unique}`
}
