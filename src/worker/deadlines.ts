/** Something that runs, and is told to stop when its time is up. */
export interface Timed {
  readonly hasBegun: boolean
  readonly isOver: boolean
  /** By this process's clock; undefined if it may take as long as it likes. */
  readonly deadlineMs: number | undefined
  abort(reason: 'timeout'): void
}

/**
 * One timer for the timeouts of all handlers of a worker: it is set to the first deadline, and looks then whose handler still
 * runs. Nearly every handler ends long before, and a timer of its own would be made and cleared for nothing: 200 of the
 * 2,600 bytes of garbage that a no-op job makes.
 */
export class Deadlines {
  readonly #all: () => Iterable<Timed>
  #timer: NodeJS.Timeout | undefined
  #setToMs = Number.POSITIVE_INFINITY

  /** `all`: whoever may have begun. */
  constructor(all: () => Iterable<Timed>) {
    this.#all = all
  }

  begun({ deadlineMs }: Timed): void {
    if (deadlineMs !== undefined && deadlineMs < this.#setToMs) this.#set(deadlineMs) // guard: deadlines.earlier
  }

  /** Nobody is told any more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#setToMs = Number.NEGATIVE_INFINITY
  }

  #set(deadlineMs: number): void {
    clearTimeout(this.#timer)
    this.#setToMs = deadlineMs
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(deadlineMs - performance.now())))
  }

  #look(): void {
    const nowMs = performance.now()
    let firstMs = Number.POSITIVE_INFINITY
    for (const execution of this.#all()) {
      const { hasBegun, isOver, deadlineMs = Number.POSITIVE_INFINITY } = execution
      if (!hasBegun || isOver) continue // guard: deadlines.running
      if (deadlineMs <= nowMs) execution.abort('timeout')
      else firstMs = Math.min(firstMs, deadlineMs)
    }
    this.#setToMs = Number.POSITIVE_INFINITY
    if (firstMs < this.#setToMs) this.#set(firstMs) // guard: deadlines.next
  }
}
