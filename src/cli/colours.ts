import type { Outcome, Place } from '../job/places.js'

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const

export type Colour = keyof typeof codes
export type Paint = (colour: Colour, text: string) => string

/** Colours only where a person looks, and not where they asked for none (no-color.org). */
export function paintFor(stream: { readonly isTTY?: boolean }): Paint {
  const plain = !stream.isTTY || Boolean(process.env['NO_COLOR']) || process.env['TERM'] === 'dumb'
  return plain ? (_, text) => text : (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
}

export const placeColours: Readonly<Record<Place, Colour>> = {
  delayed: 'blue',
  waiting: 'blue',
  ready: 'yellow',
  leased: 'cyan',
  parked: 'magenta',
  finished: 'green',
}

export const outcomeColours: Readonly<Record<Outcome, Colour>> = {
  succeeded: 'green',
  failed: 'red',
  cancelled: 'magenta',
  discarded: 'dim',
  expired: 'dim',
}
