/** What is deeper, or comes after so many, is left out: an error may hold a socket, and with it half of the process. */
const depthMax = 8
const valuesMax = 5_000
const leftOut = '…'

/**
 * A copy of anything, an error or what it carries along, as a log would write it, with `mask` put over every text and every
 * name in it. Errors stay errors, of their class: loggers look at that.
 */
export function maskedCopy(value: unknown, mask: (text: string) => string): unknown {
  return new Copier(mask).copy(value, 0)
}

class Copier {
  readonly #mask: (text: string) => string
  readonly #around: object[] = []
  #values = 0

  constructor(mask: (text: string) => string) {
    this.#mask = mask
  }

  copy(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#mask(value)
    if (typeof value === 'number' || typeof value === 'bigint') {
      const text = String(value)
      return this.#mask(text) === text ? value : this.#mask(text)
    }
    if (typeof value === 'function' || typeof value === 'symbol') return leftOut
    if (typeof value !== 'object' || value === null) return value
    if (depth > depthMax || ++this.#values > valuesMax || this.#around.includes(value)) return leftOut
    this.#around.push(value)
    try {
      return this.#object(value, depth + 1)
    } catch {
      return leftOut // a proxy, or a getter of somebody's
    } finally {
      this.#around.pop()
    }
  }

  #object(value: object, depth: number): unknown {
    if (value instanceof Error) return this.#error(value, depth)
    const { toJSON } = value as { toJSON?: unknown }
    if (ArrayBuffer.isView(value)) return leftOut // its bytes may be those of a text
    if (typeof toJSON === 'function') return this.copy(toJSON.call(value), depth)
    if (Array.isArray(value)) return value.map((each) => this.copy(each, depth))
    if (value instanceof Map || value instanceof Set) return [...value].map((each) => this.copy(each, depth))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [this.#mask(key), this.copy(each, depth)]))
  }

  /** Message, stack and cause are no fields that are listed, and may be getters of its class, which the copy is no part of. */
  #error(error: Error, depth: number): Error {
    const copy = Object.create(Object.getPrototypeOf(error) as object) as Error
    const own = Object.getOwnPropertyNames(error)
    for (const key of new Set(['message', 'stack', ...own])) {
      const enumerable = Object.prototype.propertyIsEnumerable.call(error, key)
      const value = this.copy(error[key as keyof Error], depth)
      Object.defineProperty(copy, this.#mask(key), { value, enumerable, configurable: true, writable: true })
    }
    return copy
  }
}
