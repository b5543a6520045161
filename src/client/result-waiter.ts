import { FencepostError } from '../errors.js'
import type { Database } from '../store/database.js'
import { type OutcomeRow, readOutcomes } from '../store/read.js'

const pollMsMin = 25
const pollMsMax = 1_000
const idsPerReadMax = 1_000

interface Waiter {
  resolve(outcome: OutcomeRow): void
  reject(error: unknown): void
}

/**
 * Waits for outcomes with one statement a tick for all waiters of the process, however many there are. The tick is
 * short after news and grows to a second; what this process itself settles wakes its waiters at once.
 */
export class ResultWaiter {
  readonly #db: Database
  readonly #waiters = new Map<string, Set<Waiter>>()
  #timer: NodeJS.Timeout | undefined
  #pollMs = pollMsMin
  #reading = false

  constructor(db: Database) {
    this.#db = db
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
          timer = setTimeout(() => reject(new FencepostError('FP_RESULT_TIMEOUT', `${jobId} after ${timeoutMs} ms`)), timeoutMs)
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

  /** Something has ended in this process: look now. */
  hurry(): void {
    if (this.#waiters.size === 0) return
    this.#pollMs = pollMsMin
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#read(), 0)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const waiters of this.#waiters.values()) {
      for (const waiter of waiters) waiter.reject(new FencepostError('FP_CLOSED'))
    }
  }

  async #read(): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    try {
      const ids = [...this.#waiters.keys()]
      for (let i = 0; i < ids.length; i += idsPerReadMax) {
        const { ended, missing } = await readOutcomes(this.#db, ids.slice(i, i + idsPerReadMax))
        for (const outcome of ended) for (const waiter of this.#waiters.get(outcome.jobId) ?? []) waiter.resolve(outcome)
        for (const id of missing) {
          for (const waiter of this.#waiters.get(id) ?? []) waiter.reject(new FencepostError('FP_JOB_UNKNOWN', id))
        }
      }
    } catch (error) {
      for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error)
    } finally {
      this.#reading = false
    }
    if (this.#waiters.size === 0) return
    this.#timer = setTimeout(() => void this.#read(), this.#pollMs)
    this.#pollMs = Math.min(this.#pollMs * 2, pollMsMax)
  }
}
