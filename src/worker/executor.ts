import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import { verdictOf } from '../job/verdict.js'
import type { Database } from '../store/database.js'
import { type Lease, start } from '../store/lease.js'
import { fail, finish, leaseFate, release } from '../store/settle.js'
import type { Task } from '../task/task.js'
import { validated } from '../task/validate.js'
import { RunningJob } from './running-job.js'

/** What a handler came to. */
type Ended = { readonly resultText: string } | { readonly error: unknown } | { readonly inside: 'committed' | 'parked' }

/** Why a handler is told to stop. */
type AbortReason = 'timeout' | 'lease_lost' | 'cancelled' | 'shutdown'

/**
 * One job's life under one lease:
 *
 *     start ──▶ validate ──▶ handler ──▶ check the result ──▶ finish
 *       │stale                  ├commits or parks itself ───▶ nothing more
 *       │                       │throws, times out ─────────▶ fail
 *       ▼                       │lease lost ────────────────▶ nothing: the job is another attempt's
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
  #settling: Promise<void> | undefined

  constructor(db: Database, events: Events, task: Task<unknown, unknown>, lease: Lease, payloadBytesMax: number) {
    this.#db = db
    this.#events = events
    this.#task = task
    this.#payloadBytesMax = payloadBytesMax
    this.lease = lease
  }

  async run(): Promise<void> {
    const [started] = await start(this.#db, [this.lease])
    if (started?.answer !== 'started' || this.#settling) return // given back meanwhile
    if (started.cancelRequested) return this.giveBack('cancelled')

    let timer: NodeJS.Timeout | undefined
    const abandoned = new Promise<{ aborted: AbortReason }>((resolve) => {
      this.#abandon = (reason) => resolve({ aborted: reason })
    })
    if (this.#task.timeoutMs !== undefined) timer = setTimeout(() => this.abort('timeout'), this.#task.timeoutMs)
    const handled = this.#handle()
    try {
      // A handler that ignores its signal is left behind: its job must not wait for it.
      const ended = await Promise.race([handled, abandoned])
      if (!('aborted' in ended)) return await this.#settle(ended)
      const { aborted } = ended
      if (aborted === 'timeout') await this.#settle({ error: new Error(`timed out after ${this.#task.timeoutMs} ms`) })
      else if (aborted !== 'lease_lost') await this.giveBack(aborted)
      // Only now: what it says must find its lease ended by us, not end it.
      void handled.then((late) => this.#hearLate(late))
    } finally {
      clearTimeout(timer)
    }
  }

  abort(reason: AbortReason): void {
    // First: a handler that throws because of its signal must not look as if it had failed by itself.
    this.#abandon(reason)
    this.#abort.abort(new FencepostError('FP_LEASE_LOST', reason))
  }

  /** Returns the job at no charge; a cancel that was requested ends it instead. */
  giveBack(reason: 'shutdown' | 'cancelled'): Promise<void> {
    this.#settling ??= this.#release(reason)
    return this.#settling
  }

  async #release(reason: 'shutdown' | 'cancelled'): Promise<void> {
    if (!this.#abort.signal.aborted) this.abort(reason)
    const { jobId, leaseId, task } = this.lease
    const [released] = await release(this.#db, [this.lease], reason)
    if (released?.answer === 'cancelled') this.#events.emit('cancelled', { jobId })
    else if (released?.answer !== 'stale') this.#events.emit('released', { jobId, task, reason })
    else this.#events.emit('stale', { jobId, leaseId, said: 'released', outcome: released.outcome })
  }

  async #handle(): Promise<Ended> {
    const { lease } = this
    const job = new RunningJob(this.#db, this.#task, lease, this.#abort.signal, this.#payloadBytesMax)
    try {
      const input = await validated(this.#task.input, lease.payload, `the stored input of task ${lease.task}`)
      const returned = await this.#task.run(input, job)
      if (job.ended) return await this.#endedInside(job.ended)
      return { resultText: await job.resultText(returned) }
    } catch (error) {
      return job.ended ? this.#endedInside(job.ended, error) : { error }
    }
  }

  /** The handler has committed or parked its job by itself; whatever it threw afterwards does not change that. */
  async #endedInside(ended: NonNullable<RunningJob['ended']>, error?: unknown): Promise<Ended> {
    if (ended !== 'in_a_transaction') return { inside: ended }
    if ((await leaseFate(this.#db, this.lease)) === 'finished') return { inside: 'committed' }
    return { error: error ?? new FencepostError('FP_TRANSACTION_NOT_COMMITTED', this.lease.jobId) }
  }

  #settle(ended: Ended): Promise<void> {
    this.#settling ??= this.#record(ended, false)
    return this.#settling
  }

  /** What a handler says after it was left behind changes nothing, but it is kept: its effects may have happened. */
  async #hearLate(ended: Ended): Promise<void> {
    try {
      await this.#record(ended, true)
    } catch (error) {
      this.#events.emit('error', { during: `hearing the late end of job ${this.lease.jobId}`, error })
    }
  }

  async #record(ended: Ended, late: boolean): Promise<void> {
    const { jobId, task, tries } = this.lease
    if ('resultText' in ended) await this.#finish(ended.resultText, late)
    else if ('error' in ended) await this.#fail(ended.error, late)
    else if (ended.inside === 'committed') this.#events.emit('finished', { jobId, task, attempt: tries })
    else this.#events.emit('parked', { jobId, task })
  }

  async #finish(resultText: string, late: boolean): Promise<void> {
    const { jobId, leaseId, task, tries } = this.lease
    const [finished] = await finish(this.#db, [{ ...this.lease, resultText }])
    if (finished?.answer === 'stale') {
      this.#events.emit('stale', { jobId, leaseId, said: 'succeeded', outcome: finished.outcome })
    } else if (!late) {
      this.#events.emit('finished', { jobId, task, attempt: tries })
    }
    if (finished?.duplicate) this.#events.emit('duplicate_success', { jobId, leaseId })
  }

  async #fail(error: unknown, late: boolean): Promise<void> {
    const { jobId, leaseId, task, tries, failures, failuresMax } = this.lease
    // A retry by a person raises the budget; the backoff starts anew with it.
    const failuresInBudget = failures + 1 - Math.max(0, failuresMax - this.#task.retry.limit)
    const verdict = verdictOf(error, this.#task.retry, Math.max(1, failuresInBudget), Math.random())
    const failure = { errorText: JSON.stringify(verdict.error), delayMs: verdict.delayMs, final: verdict.final }
    const [failed] = await fail(this.#db, [{ ...this.lease, ...failure }])
    if (failed?.answer === 'stale') {
      this.#events.emit('stale', { jobId, leaseId, said: 'failed', outcome: failed.outcome })
    } else if (!late) {
      this.#events.emit('failed', { jobId, task, attempt: tries, error, outcome: failed?.outcome ?? null })
    }
  }
}
