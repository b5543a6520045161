/**
 * The values that were used recently, as many as their keys have characters together. In two generations: when the
 * younger one is full, it becomes the older one, and what nobody asked for since the last time is dropped. One Map in
 * the order of use would cost more: V8 walks over all that was deleted from it to find the oldest key.
 */
export class Recent<Value> {
  readonly #lengthMax: number
  #younger = new Map<string, Value>()
  #youngerLength = 0
  #older = new Map<string, Value>()

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax
  }

  /** Made if it is not there. If making it throws, nothing is kept. */
  get(key: string, make: () => Value): Value {
    const kept = this.#younger.get(key)
    if (kept !== undefined) return kept
    const value = this.#older.get(key) ?? make()
    const lengthMax = this.#lengthMax / 2
    if (key.length > lengthMax) return value
    if (this.#youngerLength + key.length > lengthMax) {
      this.#older = this.#younger
      this.#younger = new Map()
      this.#youngerLength = 0
    }
    this.#younger.set(key, value)
    this.#youngerLength += key.length
    return value
  }
}
