import type { Execution } from './executor.js'

/** What ends before that is not marked as started: most of it is settled with the turn that would mark it. */
const markMs = 10

/** Jobs that were claimed ahead of a free handler, have begun since, and are not yet marked as started; some have ended. */
export class UnmarkedJobs {
  readonly #look: () => void
  #executions: Execution[] = []
  #timer: NodeJS.Timeout | undefined

  /** `look`: there is something to be said with a turn. */
  constructor(look: () => void) {
    this.#look = look
  }

  add(execution: Execution): void {
    this.#executions.push(execution)
    this.#look()
  }

  /** Takes those that are due, in the order in which they have begun; for the others there will be a turn. */
  takeDue(): Execution[] {
    const running = this.#executions.filter((execution) => !execution.isOver)
    const begunBeforeMs = performance.now() - markMs
    const early = running.findIndex(({ begunAtMs }) => begunAtMs > begunBeforeMs)
    const due = running.splice(0, early === -1 ? running.length : early)
    this.#executions = running
    if (running.length > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#look()
      }, markMs)
    }
    return due
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
