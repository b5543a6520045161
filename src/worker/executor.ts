import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import { jsonText } from '../job/json.js'
import { verdictOf } from '../job/verdict.js'
import type { Database } from '../store/database.js'
import { type Lease, start } from '../store/lease.js'
import { fail, finish, release } from '../store/settle.js'
import type { Task } from '../task/task.js'
import { validated } from '../task/validate.js'

/** Why a handler is told to stop. */
type AbortReason = 'timeout' | 'lease_lost' | 'cancelled' | 'shutdown'

/**
 * One job's life under one lease:
 *
 *     start ──▶ validate ──▶ handler ──▶ check the result ──▶ finish
 *       │stale                  │throws, times out ─────────▶ fail
 *       ▼                       │lease lost ────────────────▶ nothing: another attempt owns the job
 *     nothing                   └shutdown, cancelled ───────▶ release
 */
export class Execution {
  readonly lease: Lease
  readonly #db: Database
  readonly #events: Events
  readonly #task: Task<unknown, unknown>
  readonly #payloadBytesMax: number
  readonly #abort = new AbortController()
  #abandon: (reason: AbortReason) => void = () => {}
  #settled = false

  constructor(db: Database, events: Events, task: Task<unknown, unknown>, lease: Lease, payloadBytesMax: number) {
    this.#db = db
    this.#events = events
    this.#task = task
    this.#payloadBytesMax = payloadBytesMax
    this.lease = lease
  }

  async run(): Promise<void> {
    const [started] = await start(this.#db, [this.lease])
    if (started?.answer !== 'started' || this.#settled) return // given back meanwhile
    if (started.cancelRequested) return this.giveBack('cancelled')

    let timer: NodeJS.Timeout | undefined
    const abandoned = new Promise<AbortReason>((resolve) => {
      this.#abandon = resolve
    })
    if (this.#task.timeoutMs !== undefined) timer = setTimeout(() => this.abort('timeout'), this.#task.timeoutMs)
    try {
      // A handler that ignores its signal is left behind: its job must not wait for it.
      const ended = await Promise.race([this.#handle(), abandoned.then((reason) => ({ aborted: reason }))])
      if ('resultText' in ended) await this.#finish(ended.resultText)
      else if ('error' in ended) await this.#fail(ended.error)
      else if (ended.aborted === 'timeout') await this.#fail(new Error(`timed out after ${this.#task.timeoutMs} ms`))
      else if (ended.aborted !== 'lease_lost') await this.giveBack(ended.aborted)
    } finally {
      clearTimeout(timer)
    }
  }

  abort(reason: AbortReason): void {
    this.#abort.abort(new FencepostError('FP_LEASE_LOST', reason))
    this.#abandon(reason)
  }

  /** Returns the job at no charge; a cancel that was requested ends it instead. */
  async giveBack(reason: 'shutdown' | 'cancelled'): Promise<void> {
    if (this.#settled) return
    this.#settled = true
    if (!this.#abort.signal.aborted) this.abort(reason)
    const { jobId, leaseId, task } = this.lease
    const [released] = await release(this.#db, [this.lease], reason)
    if (released?.answer === 'stale') this.#events.emit('stale', { jobId, leaseId, said: 'released', outcome: released.outcome })
    else if (released?.answer === 'cancelled') this.#events.emit('cancelled', { jobId })
    else this.#events.emit('released', { jobId, task, reason })
  }

  async #handle(): Promise<{ resultText: string } | { error: unknown }> {
    const { lease } = this
    try {
      const input = await validated(this.#task.input, lease.payload, `the stored input of task ${lease.task}`)
      const returned = await this.#task.run(input, {
        id: lease.jobId,
        task: lease.task,
        queue: lease.queue,
        attempt: lease.tries,
        failures: lease.failures,
        losses: lease.losses,
        releases: lease.releases,
        createdAt: lease.createdAt,
        signal: this.#abort.signal,
      })
      const result = this.#task.output ? await validated(this.#task.output, returned, `the result of task ${lease.task}`) : returned
      return { resultText: jsonText(result, 'the result', this.#payloadBytesMax) }
    } catch (error) {
      return { error }
    }
  }

  async #finish(resultText: string): Promise<void> {
    if (this.#settled) return
    this.#settled = true
    const { jobId, leaseId, task, tries } = this.lease
    const [finished] = await finish(this.#db, [{ ...this.lease, resultText }])
    if (finished?.answer === 'stale') this.#events.emit('stale', { jobId, leaseId, said: 'succeeded', outcome: finished.outcome })
    else this.#events.emit('finished', { jobId, task, attempt: tries })
    if (finished?.duplicate) this.#events.emit('duplicate_success', { jobId, leaseId })
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#settled) return
    this.#settled = true
    const { jobId, leaseId, task, tries, failures, failuresMax } = this.lease
    // A retry by a person raises the budget; the backoff starts anew with it.
    const failuresInBudget = failures + 1 - Math.max(0, failuresMax - this.#task.retry.limit)
    const verdict = verdictOf(error, this.#task.retry, Math.max(1, failuresInBudget), Math.random())
    const errorText = JSON.stringify(verdict.error)
    const [failed] = await fail(this.#db, [{ ...this.lease, errorText, delayMs: verdict.delayMs, final: verdict.final }])
    if (failed?.answer === 'stale') this.#events.emit('stale', { jobId, leaseId, said: 'failed', outcome: failed.outcome })
    else this.#events.emit('failed', { jobId, task, attempt: tries, error, outcome: failed?.outcome ?? null })
  }
}
