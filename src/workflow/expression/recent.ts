/** The values that were used most recently, up to a number of them. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  /** Made if it is not there. If making it throws, nothing is kept. */
  get(key: string, make: () => Value): Value {
    const values = this.#values
    let value = values.get(key)
    if (value === undefined) value = make()
    else values.delete(key) // a Map goes through its keys in the order in which they were set
    values.set(key, value)
    if (values.size > this.#sizeMax) values.delete(values.keys().next().value as string)
    return value
  }
}
