import type { Execution } from './executor.js'

/**
 * What a worker holds, from the claim until it is settled.
 *
 * Not a Set: one that is added to and deleted from goes on in a new table every few hundred times, and each table that it
 * has left refers to the next. Once the first of them is among V8's old objects, all that follow stay, and the jobs that
 * were in them, until old objects are collected: a fourth of all the garbage that a busy worker makes.
 */
export class Held {
  readonly #executions: Execution[] = []

  add(execution: Execution): void {
    execution.heldAt = this.#executions.push(execution) - 1
  }

  /** The last one takes its place. */
  delete(execution: Execution): void {
    if (this.#executions[execution.heldAt] !== execution) return
    const last = this.#executions.pop() as Execution
    if (last === execution) return
    last.heldAt = execution.heldAt
    this.#executions[last.heldAt] = last
  }

  /** Those of now, in no order. */
  all(): Execution[] {
    return [...this.#executions]
  }
}
