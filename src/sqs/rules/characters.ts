/** The characters that XML 1.0 can carry: what a message may hold, and what an answer to the query protocol can. */
const refused = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u
const everyRefused = new RegExp(refused.source, 'gu')

export const allowedCharacters = '#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]'

export interface RefusedCharacter {
  /** As in `#x8`. */
  readonly name: string
  /** In characters, not in bytes or UTF-16 units: languages differ in those. */
  readonly offset: number
}

export function firstRefusedCharacter(text: string): RefusedCharacter | undefined {
  const found = refused.exec(text)
  if (found === null) return undefined
  const codePoint = found[0].codePointAt(0) as number
  return { name: `#x${codePoint.toString(16).toUpperCase()}`, offset: Array.from(text.slice(0, found.index)).length }
}

const echoLengthMax = 200

/** What a client wrote, as an error may repeat it: bounded, and free of what would break the answer's XML. */
export function echoed(text: string): string {
  const start = text.length > echoLengthMax ? `${text.slice(0, echoLengthMax)}…` : text
  return start.replace(everyRefused, '\uFFFD')
}
