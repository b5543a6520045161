/** A time that jumps from one thing that is due to the next; what is due at the same time happens in the order of its asking. */
export class VirtualClock {
  #nowMs: number
  /** The next one last. */
  readonly #due: { readonly atMs: number; readonly happen: () => void }[] = []

  constructor(startMs: number) {
    this.#nowMs = startMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Answers how to take it back. A time that has passed is now. */
  at(ms: number, happen: () => void): () => void {
    const due = { atMs: Math.max(ms, this.#nowMs), happen }
    const later = this.#due.findLastIndex((each) => each.atMs > due.atMs)
    this.#due.splice(later + 1, 0, due)
    return () => {
      const place = this.#due.indexOf(due)
      if (place !== -1) this.#due.splice(place, 1)
    }
  }

  /** Lets the next thing happen; false if there is none. */
  next(): boolean {
    const due = this.#due.pop()
    if (!due) return false
    this.#nowMs = due.atMs
    due.happen()
    return true
  }
}
