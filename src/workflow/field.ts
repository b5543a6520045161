import { durationMs, durationText } from '../task/duration.js'
import { nearestName } from '../task/nearest-name.js'
import { shown } from '../errors.js'
import { limits } from '../limits.js'
import type { Path, ProblemLog } from './problem.js'

/** What a mapping may hold. */
export interface Shape {
  /** Such as `a task`. */
  readonly what: string
  readonly keys: readonly string[]
  /** What it holds, if that is not all of them. */
  readonly members?: string
  readonly elsewhere: Elsewhere
}

/** What people write who know other systems: the word for it here, or a sentence on what to do instead. */
export type Elsewhere = Readonly<Record<string, string>>

/**
 * A value of a definition that is being read, with its path. Every reader answers the value in the form asked for, or
 * notes what is wrong and answers undefined; then nothing that follows from it should be noted again.
 */
export class Field {
  readonly value: unknown
  readonly path: Path
  readonly #log: ProblemLog

  constructor(value: unknown, path: Path, log: ProblemLog) {
    this.value = value
    this.path = path
    this.#log = log
  }

  /** An empty value, as in `timeout:`, is none. */
  get isGiven(): boolean {
    return this.value !== undefined && this.value !== null
  }

  /** The key, or the position in a list, as people count. */
  get label(): string {
    const last = this.path.at(-1)
    return typeof last === 'number' ? `entry ${last + 1} of ${String(this.path.at(-2))}` : (last ?? 'a workflow')
  }

  at(key: string | number): Field {
    const members = (this.value ?? {}) as Readonly<Record<string | number, unknown>>
    return new Field(members[key], [...this.path, key], this.#log)
  }

  add(message: string, hint?: string): undefined {
    this.#log.addAtValue(this.path, message, hint)
  }

  addAtKey(message: string, hint?: string): undefined {
    this.#log.addAtKey(this.path, message, hint)
  }

  addWithin(expression: { source: string; offset: number; length: number }, message: string, hint?: string): undefined {
    this.#log.addWithin(this.path, expression, message, hint)
  }

  /** Not what was expected. */
  refuse(expected: string, hint?: string): undefined {
    if (!this.isGiven) return this.add(`${this.label} is empty; it must be ${expected}`, hint)
    const fixed = isTemplate(this.value) ? fixedHint : hint
    return this.add(`${this.label} must be ${expected}, not ${inWords(this.value)}`, fixed)
  }

  /** Whether it is a mapping. Keys that it should not have are noted. */
  hasShape(shape: Shape, hint?: string): boolean {
    const entries = this.entries(`a mapping with ${shape.members ?? listed(shape.keys)}`, hint)
    for (const [key, member] of entries ?? []) {
      if (shape.keys.includes(key)) continue
      const known = `The keys are ${listed(shape.keys)}.`
      member.addAtKey(
        `unknown key ${shown(key)} in ${shape.what}`,
        suggestion(key, shape.keys, shape.elsewhere) ?? known,
      )
    }
    return entries !== undefined
  }

  /** Whether a key is there, or one that was probably meant to be it, which is already noted. */
  hasKey(key: string, { keys, elsewhere }: Shape): boolean {
    const written = typeof this.value === 'object' && this.value !== null ? Object.keys(this.value) : []
    return written.some((each) => each === key || (!keys.includes(each) && meant(each, keys, elsewhere) === key))
  }

  entries(expected: string, hint?: string): (readonly [string, Field])[] | undefined {
    if (typeof this.value !== 'object' || this.value === null || Array.isArray(this.value)) {
      return this.refuse(expected, hint)
    }
    return Object.keys(this.value).map((key) => [key, this.at(key)] as const)
  }

  list(expected: string, hint?: string): Field[] | undefined {
    if (!Array.isArray(this.value)) return this.refuse(expected, hint)
    return this.value.map((_, i) => this.at(i))
  }

  text(expected = 'text', hint = 'Write a text.'): string | undefined {
    if (isText(this.value) && this.value.trim() !== '') return this.value
    if (typeof this.value === 'number' || typeof this.value === 'boolean') {
      return this.refuse(expected, `Put it in quotes: '${String(this.value)}'`)
    }
    return this.refuse(expected, hint)
  }

  integer(min: number, max: number, hint?: string): number | undefined {
    const { value } = this
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    const unquoted = isText(value) && /^\d+$/.test(value) ? 'Leave out the quotes.' : hint
    return this.refuse(`a whole number from ${min} to ${max}`, unquoted ?? 'Write it in digits, within this range.')
  }

  flag(otherwise: boolean): boolean {
    if (!this.isGiven) return otherwise
    if (typeof this.value === 'boolean') return this.value
    const isWord = isText(this.value) && /^(yes|no|on|off|true|false)$/i.test(this.value)
    const words = 'Write true or false, without quotes'
    this.refuse('true or false', isWord ? `${words}: YAML takes every other word for text.` : `${words}.`)
    return otherwise
  }

  oneOf<Word extends string>(words: readonly Word[], elsewhere: Elsewhere = {}): Word | undefined {
    const word = words.find((each) => each === this.value)
    if (word !== undefined) return word
    const hint = isText(this.value) ? suggestion(this.value, words, elsewhere) : undefined
    return this.refuse(listed(words, 'or'), hint ?? 'Write one of these words.')
  }

  durationMs(min = 0, max: number = limits.durationMsMax): number | undefined {
    if (typeof this.value === 'number') {
      const hint = `Add the unit: ${this.value}s, ${this.value}m or ${this.value}h.`
      return this.refuse('a duration such as 30s', hint)
    }
    const ms = isText(this.value) ? durationOf(this.value) : undefined
    if (ms === undefined) return this.refuse('a duration such as 30s', durationHint)
    if (ms >= min && ms <= max) return ms
    const hint = ms < min ? `Take ${this.label} out if there is to be none.` : `The longest is ${durationText(max)}.`
    return this.refuse(`a duration from ${durationText(min)} to ${durationText(max)}`, hint)
  }
}

const durationHint = 'Write durations as 500ms, 30s, 5m, 2h, 3d or 1w.'
const fixedHint = 'It is part of the definition and the same for every run: an expression cannot stand here.'

export function durationOf(text: string): number | undefined {
  try {
    return durationMs(text as never, '', Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
  } catch {
    return undefined
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Its value is known only when the run comes to it: all that can be checked now is the expression. */
export function isTemplate(value: unknown): boolean {
  return isText(value) && value.includes('{{')
}

/** `a, b and c` */
export function listed(words: readonly string[], joint = 'and'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${joint} ${words.at(-1)}`
}

export function didYouMean(written: string, names: Iterable<string>): string | undefined {
  const nearest = nearestName(written, names)
  return nearest === undefined ? undefined : `Did you mean ${nearest}?`
}

/** What stands there instead, as someone who writes YAML would call it. */
export function inWords(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a mapping' : shown(value)
}

/** What was probably meant, in a sentence. */
export function suggestion(written: string, words: readonly string[], elsewhere: Elsewhere): string | undefined {
  const foreign = Object.hasOwn(elsewhere, written) ? (elsewhere[written] as string) : undefined
  if (foreign === undefined) return didYouMean(written, words)
  return words.includes(foreign) ? `Here it is called ${foreign}.` : foreign
}

function meant(written: string, words: readonly string[], elsewhere: Elsewhere): string | undefined {
  return Object.hasOwn(elsewhere, written) ? elsewhere[written] : nearestName(written, words)
}
