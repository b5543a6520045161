import type { Json } from '../job/json.js'
import { printable } from './printable.js'

const lengthMax = 2_000

/** A value on one line; of a long one, the beginning. */
export function jsonLine(value: Json): string {
  const text = printable(JSON.stringify(value))
  if (text.length <= lengthMax) return text
  return `${text.slice(0, lengthMax)}… (${text.length} characters; --json shows all)`
}
