import type { Trouble } from '../workflow/run.js'
import { printable } from './printable.js'

/** What went wrong, its code, and the place in the definition with its caret, if it has one. */
export function troubleLines(error: Trouble | null): string[] {
  if (!error) return []
  const { message, code, place } = error
  const told = `${message}${code === undefined ? '' : ` (${code})`}`
  // The place begins with the problem, which the message tells already.
  const excerpt = typeof place === 'string' ? place.split('\n').slice(1) : []
  return [...told.split('\n'), ...excerpt].map(printable)
}
