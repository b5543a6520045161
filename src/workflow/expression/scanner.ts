import { Place } from './place.js'

/** An expression in a string: what stands between {{ and }}. */
export interface Hole {
  /** With the braces. */
  readonly place: Place
  readonly text: string
  /** Where `text` begins in the string. */
  readonly textOffset: number
}

/** Whether a string holds an expression at all. */
export function hasHoles(source: string): boolean {
  return source.includes('{{')
}

/**
 * The string in its parts, text and expressions in turn. The end of an expression is the first }} that is neither in a
 * string of CEL nor closes its maps: {{ {'a': {'b': '}}'}} }} is one expression.
 */
export function scan(source: string): (string | Hole)[] {
  const parts: (string | Hole)[] = []
  let position = 0
  for (;;) {
    const start = source.indexOf('{{', position)
    if (start < 0) break
    if (start > position) parts.push(source.slice(position, start))
    const textEnd = expressionEnd(source, start)
    parts.push({
      place: new Place(source, start, textEnd + 2 - start),
      text: source.slice(start + 2, textEnd),
      textOffset: start + 2,
    })
    position = textEnd + 2
  }
  if (position < source.length) parts.push(source.slice(position))
  return parts
}

/** Where the }} stands that belongs to the {{ at `start`. */
function expressionEnd(source: string, start: number): number {
  let mapsOpen = 0
  let i = start + 2
  while (i < source.length) {
    switch (source[i]) {
      case '"':
      case "'":
        i = stringEnd(source, i)
        continue
      case '/':
        if (source[i + 1] === '/') {
          i = commentEnd(source, i)
          continue
        }
        break
      case '{':
        mapsOpen++
        break
      case '}':
        if (mapsOpen > 0) mapsOpen--
        else if (source[i + 1] === '}') return i
        break
      default:
    }
    i++
  }
  throw new Place(source, start, 2).error(
    '{{ is not closed',
    "An expression ends with }}. To write {{ itself, write {{ '{{' }}.",
  )
}

/** Behind the closing quote. Escapes are skipped as the parser skips them: also in a raw string, \' does not end it. */
function stringEnd(source: string, start: number): number {
  const quote = source[start] as string
  const triple = source.startsWith(quote.repeat(3), start)
  let i = start + (triple ? 3 : 1)
  while (i < source.length) {
    const character = source[i]
    if (character === '\\') i++
    else if (triple ? source.startsWith(quote.repeat(3), i) : character === quote) return i + (triple ? 3 : 1)
    else if (!triple && (character === '\n' || character === '\r')) break
    i++
  }
  throw new Place(source, start, triple ? 3 : 1).error(
    `the string that begins with ${triple ? quote.repeat(3) : quote} is not closed`,
    triple ? undefined : `A string ends on the line it begins on; one of several lines stands in ${quote.repeat(3)}.`,
  )
}

/** A comment goes to the end of its line, or of the expression. */
function commentEnd(source: string, start: number): number {
  const found = /\n|\}\}/.exec(source.slice(start))
  return found ? start + found.index : source.length
}
