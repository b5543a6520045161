import { limits } from '../../limits.js'

export class PatternError extends Error {}

export type Spend = (steps: number) => void

export interface CharacterClass {
  readonly ranges: readonly (readonly [number, number])[]
  readonly negated: boolean
}

/** The jumps of `either` are relative, so that pieces of a program can be copied. */
export type Instruction =
  | { readonly kind: 'one'; readonly of: CharacterClass }
  | { readonly kind: 'either'; readonly jumps: readonly number[] }
  | { readonly kind: 'edge'; readonly start: boolean }
  | { readonly kind: 'found' }

type Piece = readonly Instruction[]

const code = (character: string): number => character.codePointAt(0) as number
const range = (from: string, to = from): readonly [number, number] => [code(from), code(to)]
const digit: CharacterClass = { ranges: [range('0', '9')], negated: false }
const word: CharacterClass = { ranges: [range('a', 'z'), range('A', 'Z'), range('0', '9'), range('_')], negated: false }
const space: CharacterClass = { ranges: [range('\t'), range('\n'), range('\f', '\r'), range(' ')], negated: false }
const classes: Readonly<Record<string, CharacterClass>> = {
  d: digit,
  D: { ...digit, negated: true },
  w: word,
  W: { ...word, negated: true },
  s: space,
  S: { ...space, negated: true },
}
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f' }

/** Throws a PatternError. `spend` is told the steps as they are made. */
export function parsePattern(source: string, spend: Spend): readonly Instruction[] {
  return new PatternParser(source, spend).parse()
}

const groupsInGroupsMax = 50

class PatternParser {
  readonly #characters: readonly string[]
  readonly #spend: Spend
  #position = 0
  #depth = 0

  constructor(source: string, spend: Spend) {
    if (source.length > limits.expressionPatternMax) throw tooLarge()
    this.#characters = Array.from(source)
    this.#spend = spend
  }

  parse(): Piece {
    const piece = this.#alternatives()
    if (this.#next !== undefined) throw new PatternError(') without (')
    return [...piece, { kind: 'found' }]
  }

  get #next(): string | undefined {
    return this.#characters[this.#position]
  }

  #taken(character: string): boolean {
    if (this.#next !== character) return false
    this.#position++
    return true
  }

  #alternatives(): Piece {
    const first = this.#sequence()
    if (!this.#taken('|')) return first
    const second = this.#alternatives()
    return this.#joined([either(1, first.length + 2)], first, [either(second.length + 1)], second)
  }

  #sequence(): Piece {
    const pieces: Piece[] = []
    while (this.#next !== undefined && this.#next !== '|' && this.#next !== ')') {
      pieces.push(this.#repeated(this.#one()))
    }
    return this.#joined(...pieces)
  }

  #one(): Piece {
    const character = this.#characters[this.#position++] as string
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return [{ kind: 'one', of: this.#characterClass() }]
      case '.':
        return [{ kind: 'one', of: { ranges: [range('\n')], negated: true } }]
      case '^':
      case '$':
        return [{ kind: 'edge', start: character === '^' }]
      case '\\':
        return [{ kind: 'one', of: this.#escaped() }]
      case '*':
      case '+':
      case '?':
        throw new PatternError(`there is nothing before ${character} that it could repeat`)
      case '{':
      case '}':
      case ']':
        throw new PatternError(`${character} itself is written \\${character}`)
      default:
        return [{ kind: 'one', of: { ranges: [range(character)], negated: false } }]
    }
  }

  #group(): Piece {
    if (this.#taken('?') && !this.#taken(':')) {
      throw new PatternError('of the groups that begin with (? only (?: is known: there is no looking around, no flag')
    }
    if (++this.#depth > groupsInGroupsMax) throw tooLarge()
    const inside = this.#alternatives()
    this.#depth--
    if (!this.#taken(')')) throw new PatternError('a ( is not closed')
    return inside
  }

  #repeated(piece: Piece): Piece {
    const times = this.#times()
    if (!times) return piece
    this.#taken('?') // as few as possible: whether it is found does not depend on it
    if (this.#next !== undefined && '*+?{'.includes(this.#next)) {
      throw new PatternError('a repetition cannot be repeated: put it in ( )')
    }
    const [least, most] = times
    const copies: Piece[] = Array.from({ length: least }, () => piece)
    if (most === Infinity) copies.push([either(1, piece.length + 2)], piece, [either(-piece.length - 1)])
    else for (let i = least; i < most; i++) copies.push([either(1, piece.length + 1)], piece)
    return this.#joined(...copies)
  }

  #joined(...pieces: readonly Piece[]): Piece {
    const whole: Instruction[] = []
    for (const piece of pieces) {
      this.#spend(piece.length)
      if (whole.length + piece.length > limits.expressionPatternMax) throw tooLarge()
      whole.push(...piece)
    }
    return whole
  }

  #times(): readonly [number, number] | undefined {
    if (this.#taken('*')) return [0, Infinity]
    if (this.#taken('+')) return [1, Infinity]
    if (this.#taken('?')) return [0, 1]
    if (this.#next !== '{') return undefined
    const rest = this.#characters.slice(this.#position, this.#position + 20).join('')
    const found = /^\{(\d+)(,(\d*))?\}/.exec(rest)
    if (!found) throw new PatternError('after { come one or two numbers, as in {3} or {1,5}; { itself is written \\{')
    this.#position += found[0].length
    const least = Number(found[1])
    const most = found[2] === undefined ? least : found[3] === '' ? Infinity : Number(found[3])
    if (most < least) throw new PatternError(`${found[0]} goes from more to less`)
    if (least > limits.expressionPatternMax || (most > limits.expressionPatternMax && most !== Infinity))
      throw tooLarge()
    return [least, most]
  }

  #escaped(): CharacterClass {
    const character = this.#characters[this.#position++]
    if (character === undefined) throw new PatternError('it ends with a single \\')
    const known = classes[character]
    if (known) return known
    const plain = escapes[character] ?? character
    if (plain === character && /^[\p{L}\p{N}]$/u.test(character)) throw new PatternError(`\\${character} is not known`)
    return { ranges: [range(plain)], negated: false }
  }

  #characterClass(): CharacterClass {
    const negated = this.#taken('^')
    const ranges: (readonly [number, number])[] = []
    do {
      const from = this.#member()
      if (this.#next === '-' && this.#characters[this.#position + 1] !== ']') {
        this.#position++
        const first = single(from)
        const last = single(this.#member())
        if (last < first) throw new PatternError('a range in [ ] goes from more to less')
        ranges.push([first, last])
      } else ranges.push(...from)
    } while (!this.#taken(']'))
    return { ranges, negated }
  }

  /** One character of a class, or a class in it. */
  #member(): CharacterClass['ranges'] {
    const character = this.#characters[this.#position++]
    if (character === undefined) throw new PatternError('a [ is not closed')
    if (character === ']') throw new PatternError('[ ] is empty; ] itself is written \\]')
    if (character === '[') throw new PatternError('[ in [ ] is written \\[')
    if (character !== '\\') return [range(character)]
    const escaped = this.#escaped()
    if (escaped.negated) throw new PatternError('\\D, \\W and \\S cannot stand in [ ]')
    return escaped.ranges
  }
}

function single([only, ...more]: CharacterClass['ranges']): number {
  if (only && more.length === 0 && only[0] === only[1]) return only[0]
  throw new PatternError('a range in [ ] is from one character to another')
}

/** Jumps, relative to the instruction itself. */
function either(...jumps: readonly number[]): Instruction {
  return { kind: 'either', jumps }
}

function tooLarge(): PatternError {
  return new PatternError('it is too large')
}
