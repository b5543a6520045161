import { FencepostError } from '../errors.js'
import type { OutcomeRow } from '../store/read.js'

const pollMsMin = 25
const pollMsMax = 1_000
const idsPerReadMax = 10_000

type ReadOutcomes = (ids: readonly string[]) => Promise<{ ended: OutcomeRow[]; missing: string[] }>

interface Waiter {
  resolve(outcome: OutcomeRow): void
  reject(error: unknown): void
}

/**
 * Waits for outcomes with one statement a tick for all waiters of the process, however many there are. The tick is
 * short after news and grows to a second; what this process itself settles wakes its waiters at once. Between two
 * statements there is a pause, however much news there is.
 */
export class ResultWaiter {
  readonly #readOutcomes: ReadOutcomes
  readonly #waiters = new Map<string, Set<Waiter>>()
  #timer: NodeJS.Timeout | undefined
  #reading = false
  #pollMs = pollMsMin
  #readAt = 0

  constructor(readOutcomes: ReadOutcomes) {
    this.#readOutcomes = readOutcomes
  }

  async wait(jobId: string, timeoutMs: number | undefined): Promise<OutcomeRow> {
    let waiter: Waiter | undefined
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<OutcomeRow>((resolve, reject) => {
        waiter = { resolve, reject }
        const waiters = this.#waiters.get(jobId) ?? new Set()
        this.#waiters.set(jobId, waiters.add(waiter))
        if (timeoutMs !== undefined) {
          const late = () => reject(new FencepostError('FP_RESULT_TIMEOUT', `${jobId} after ${timeoutMs} ms`))
          timer = setTimeout(late, timeoutMs)
        }
        this.hurry()
      })
    } finally {
      clearTimeout(timer)
      const waiters = this.#waiters.get(jobId)
      if (waiter) waiters?.delete(waiter)
      if (waiters?.size === 0) this.#waiters.delete(jobId)
      if (this.#waiters.size === 0) clearTimeout(this.#timer)
    }
  }

  /** There is a new waiter, or something has ended in this process: look now. */
  hurry(): void {
    this.#pollMs = pollMsMin
    if (this.#waiters.size > 0) this.#readAfter(Math.max(0, this.#readAt + pollMsMin - Date.now()))
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#rejectAll(new FencepostError('FP_CLOSED'))
  }

  /** One timer, and none while a statement is under way: its end sets the next. */
  #readAfter(ms: number): void {
    if (this.#reading) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#read(), ms)
  }

  /** An answer is for those who waited when the question was asked: a job may be stored or retried meanwhile. */
  async #read(): Promise<void> {
    this.#reading = true
    const asking = new Map([...this.#waiters].map(([id, waiters]) => [id, [...waiters]]))
    try {
      const ids = [...asking.keys()]
      for (let i = 0; i < ids.length; i += idsPerReadMax) {
        const { ended, missing } = await this.#readOutcomes(ids.slice(i, i + idsPerReadMax))
        for (const outcome of ended) asking.get(outcome.jobId)?.forEach((waiter) => waiter.resolve(outcome))
        for (const id of missing) {
          asking.get(id)?.forEach((waiter) => waiter.reject(new FencepostError('FP_JOB_UNKNOWN', id)))
        }
      }
    } catch (error) {
      this.#rejectAll(error)
    } finally {
      this.#reading = false
      this.#readAt = Date.now()
    }
    if (this.#waiters.size === 0) return
    this.#readAfter(this.#pollMs)
    this.#pollMs = Math.min(this.#pollMs * 2, pollMsMax)
  }

  #rejectAll(error: unknown): void {
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error)
  }
}
