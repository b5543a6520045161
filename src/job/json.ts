import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'

export type { Json } from '../task/stored.js'

/**
 * A value as JSON text that PostgreSQL stores and gives back unchanged, or an error. `what` names the value in it.
 *
 * JSON.stringify alone would store a Map as {}, NaN as null and an undefined array member as null; it would overflow
 * the stack on deep nesting, and PostgreSQL would refuse U+0000 and lone surrogates after the round trip.
 */
export function jsonText(value: unknown, what: string, bytesMax: number): string {
  const root = value ?? null
  if (root === null && bytesMax >= 4) return 'null' // what most handlers return
  const inspection = new Inspection(what, bytesMax)
  let text: string
  try {
    inspection.visit(root, 0)
    text = JSON.stringify(root)
  } catch (error) {
    if (error instanceof FencepostError) throw error
    throw inspection.refusal('could not be read', error) // a getter or a toJSON() of the caller's threw
  }
  const bytes = Buffer.byteLength(text)
  if (bytes > bytesMax) throw tooLarge(`${what} has ${bytes} bytes, the limit is ${bytesMax}`)
  return text
}

/**
 * Looks at every value before any text is made. It counts the bytes that the text will have at least, one or more for
 * each value, so that what is far too large, or few objects shared in exponentially many places, is refused early.
 */
class Inspection {
  readonly #what: string
  readonly #bytesMax: number
  /** The keys that lead to the value in hand; text only when an error has to name it. */
  readonly #trail: (string | number)[] = []
  /** The containers around it, outermost first. */
  readonly #around: object[] = []
  #bytes = 0

  constructor(what: string, bytesMax: number) {
    this.#what = what
    this.#bytesMax = bytesMax
  }

  visit(given: unknown, depth: number): void {
    const value = this.#unwrapped(given, depth)
    switch (typeof value) {
      case 'string':
        this.#count(value.length + 2)
        this.#checkCharacters(value)
        return
      case 'number':
        if (!Number.isFinite(value)) throw this.refusal(`is ${value}`)
        this.#count(1)
        return
      case 'boolean':
        this.#count(4)
        return
      case 'object':
        if (value === null) this.#count(4)
        else this.#visitMembers(value, depth)
        return
      case 'undefined':
        throw this.refusal('is undefined')
      default:
        throw this.refusal(`is a ${typeof value}`)
    }
  }

  #visitMembers(container: object, depth: number): void {
    if (depth >= limits.payloadDepthMax) {
      const detail = `${this.#what} is nested deeper than ${limits.payloadDepthMax} levels`
      throw new FencepostError('FP_INPUT_TOO_DEEP', detail)
    }
    if (this.#around.includes(container)) throw this.refusal('contains itself')
    this.#around.push(container)
    this.#count(1) // the opening bracket; each member counts what follows it, a comma or the closing one
    if (Array.isArray(container)) {
      for (let i = 0; i < container.length; i++) {
        this.#trail[depth] = i
        this.#count(1)
        this.visit(container[i], depth + 1)
      }
    } else {
      this.#checkPlain(container)
      for (const key of Object.keys(container)) {
        const member = (container as Record<string, unknown>)[key]
        if (member === undefined) continue // left out, as JSON.stringify does
        this.#trail[depth] = key
        this.#count(key.length + 4)
        this.#checkCharacters(key, 'has a name that ')
        this.visit(member, depth + 1)
      }
    }
    this.#trail.length = depth
    this.#around.pop()
  }

  /** What JSON.stringify would take in place of an object with a toJSON(). */
  #unwrapped(value: unknown, depth: number): unknown {
    if (typeof value !== 'object' || value === null) return value
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON !== 'function') return value
    if (value instanceof Date && Number.isNaN(value.getTime())) throw this.refusal('is an invalid Date')
    const plain: unknown = toJSON.call(value, depth === 0 ? '' : String(this.#trail[depth - 1]))
    if (plain === undefined) throw this.refusal('has a toJSON() that gives nothing to store')
    return plain
  }

  /** An object literal of this realm or another, or an object without a prototype. */
  #checkPlain(value: object): void {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null) return
    const { constructor } = prototype as { constructor?: { name?: unknown } }
    const name = typeof constructor?.name === 'string' && constructor.name !== '' ? constructor.name : 'a class'
    throw this.refusal(`is an instance of ${name}, not a plain object`)
  }

  #checkCharacters(text: string, where = ''): void {
    if (text.includes('\u0000')) throw this.refusal(`${where}contains the character U+0000`)
    if (!text.isWellFormed()) throw this.refusal(`${where}contains a lone surrogate`)
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#bytesMax) throw tooLarge(`${this.#what} has more than ${this.#bytesMax} bytes`)
  }

  refusal(problem: string, cause?: unknown): FencepostError {
    const path = this.#trail.map((key) =>
      typeof key === 'string' && /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    )
    const detail = `${(this.#what + path.join('')).slice(0, 200)} ${problem}`
    return new FencepostError('FP_INPUT_NOT_JSON', detail, cause === undefined ? {} : { cause })
  }
}

function tooLarge(detail: string): FencepostError {
  return new FencepostError('FP_INPUT_TOO_LARGE', detail)
}
