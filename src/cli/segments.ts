import type { Colour, Paint } from './colours.js'

/** A piece of a line, in one colour. */
export type Segment = readonly [text: string, colour?: Colour]

/** The line with its colours, no longer than there are columns. */
export function fitted(line: readonly Segment[], columns: number, paint: Paint): string {
  let room = columns
  let text = ''
  for (const [part, colour] of line) {
    const shown = part.slice(0, room)
    room -= shown.length
    text += colour && shown !== '' ? paint(colour, shown) : shown
  }
  return text
}
