import type { Json } from './json.js'
import { maskedCopy } from './masked-copy.js'

const shown = '•••'
/** A shorter secret is masked where it stands alone: inside other text it would be everywhere. */
const lengthMin = 3

/** Hides the values of secrets wherever they appear: as they are, and as JSON or a URL writes them. */
export class SecretMask {
  readonly #whole: ReadonlySet<string>
  readonly #parts: readonly string[]

  constructor(secrets: readonly Json[]) {
    const texts = [...new Set(secrets.flatMap(leaves))]
    this.#whole = new Set(texts)
    const written = texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1), inUrl(text)])
    // The longest first: one secret may be a part of another.
    this.#parts = [...new Set(written)].filter(({ length }) => length >= lengthMin).sort((a, b) => b.length - a.length)
  }

  text(text: string): string {
    if (this.#whole.has(text)) return shown
    return this.#parts.reduce((masked, part) => masked.replaceAll(part, shown), text)
  }

  json<Value extends Json>(value: Value): Value {
    return this.#masked(value) as Value
  }

  /** For what was thrown: anything at all. The same if there is nothing to hide, else a copy. */
  thrown(value: unknown): unknown {
    return this.#whole.size === 0 ? value : maskedCopy(value, (text) => this.text(text))
  }

  #masked(value: Json): Json {
    if (this.#whole.size === 0 || value === null || typeof value === 'boolean') return value
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.#whole.has(String(value)) ? shown : value
    if (isList(value)) return value.map((each) => this.#masked(each))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [this.text(key), this.#masked(each)]))
  }
}

/** true, false and null tell nothing; what is empty neither. */
function leaves(value: Json): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((each) => leaves(each))
}

function inUrl(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
