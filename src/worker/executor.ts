import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import { NonRetryable, verdictOf } from '../job/verdict.js'
import type { Database } from '../store/database.js'
import { type FailAnswer, type Failure, type Finished, fail, finish, leaseFate, type Settled } from '../store/settle.js'
import type { TurnLease } from '../store/turn.js'
import type { RetryPolicy } from '../task/retry-policy.js'
import type { Task } from '../task/task.js'
import { itemRetry } from '../workflow/item-retry.js'
import { secretsIn } from '../workflow/secret-flow.js'
import { validated } from '../task/validate.js'
import { type Attempt, RunningJob } from './running-job.js'
import type { Turns } from './turns.js'

/** What a handler came to. */
type Ended = { readonly resultText: string } | { readonly error: unknown } | { readonly inside: 'committed' | 'parked' }

/** Why a handler is told to stop. */
export type AbortReason = 'timeout' | 'lease_lost' | 'cancelled' | 'shutdown'

export interface Bench {
  readonly db: Database
  readonly events: Events
  readonly turns: Turns
  readonly payloadBytesMax: number
}

/**
 * One job's life under one lease:
 *
 *     (claimed and started) ──▶ validate ──▶ handler ──▶ check the result ──▶ finish
 *                                              ├commits or parks itself ───▶ nothing more
 *                                              │throws, times out ─────────▶ fail
 *                                              │lease lost ────────────────▶ nothing: the job is another attempt's
 *                                              └shutdown, cancelled ───────▶ release
 *
 * The handler's slot is free as soon as it has ended or been left behind; what it came to goes with the next turn.
 */
export class Execution implements Attempt {
  readonly lease: TurnLease
  readonly arrivedAtMs: number
  /** By this process's clock: before, the lease cannot have run out. */
  validUntilMs: number
  /** Not to be extended by heartbeats: it was extended to its deadline, and its row must not change. */
  held = false
  leaving = false
  readonly #bench: Bench
  readonly #task: Task<unknown, unknown>
  #controller: AbortController | undefined
  #aborted: AbortReason | undefined
  #abandon: ((reason: AbortReason) => void) | undefined
  #settling: Promise<void> | undefined
  #begunAtMs = 0
  /** Until its handler has ended that was left behind, and was heard. */
  #late: Promise<void> | undefined
  /** Its secrets may be in what it throws, and in what is said of that. */
  #reveal: (() => void) | undefined

  constructor(bench: Bench, task: Task<unknown, unknown>, lease: TurnLease, sentAtMs: number) {
    this.#bench = bench
    this.#task = task
    this.lease = lease
    this.arrivedAtMs = performance.now()
    this.validUntilMs = sentAtMs + lease.leftMs // guard: executor.sent
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(abortError(this.#aborted)) // guard: executor.late_signal
    }
    return this.#controller.signal
  }

  get deadlineMs(): number | undefined {
    return this.#timeoutMs === undefined ? undefined : this.#begunAtMs + this.#timeoutMs
  }

  get #timeoutMs(): number | undefined {
    return this.lease.policy?.timeoutMs ?? this.#task.timeoutMs
  }

  get #retry(): RetryPolicy {
    return itemRetry(this.lease.policy, this.lease.tries) ?? this.#task.retry
  }

  get hasBegun(): boolean {
    return this.#begunAtMs > 0
  }

  /** Its end is decided; what remains is to say so. */
  get isSettling(): boolean {
    return this.#settling !== undefined
  }

  /** It has run when its end is settled. Written with few promises: there are tens of thousands of these a second. */
  run(onHandlerEnded: () => void): Promise<void> {
    if (this.#aborted || this.#settling) {
      // guard: executor.unbegun
      // Told to stop while it waited in line: it never begins.
      onHandlerEnded()
      return this.#aborted && this.#aborted !== 'lease_lost' ? this.giveBack('cancelled') : Promise.resolve()
    }
    let timer: NodeJS.Timeout | undefined
    this.#begunAtMs = performance.now()
    const { payload, policy } = this.lease
    if (policy?.secrets) this.#reveal = this.#bench.events.hide(secretsIn(payload, policy.secrets))
    let end: (ended: Ended | { aborted: AbortReason }) => void = () => {}
    const first = new Promise<Ended | { aborted: AbortReason }>((resolve) => {
      end = resolve
    })
    // A handler that ignores its signal is left behind: its job must not wait for it.
    this.#abandon = (aborted) => end({ aborted }) // guard: executor.left_behind
    // guard: executor.timeout
    if (this.#timeoutMs !== undefined) timer = setTimeout(() => this.abort('timeout'), this.#timeoutMs)
    const handled = this.#handle() // now: its time has begun, and it may do much before it first waits
    handled.then(end, (error: unknown) => end({ error }))
    return first.then((ended) => {
      clearTimeout(timer)
      onHandlerEnded()
      return 'aborted' in ended ? this.#leftBehind(ended.aborted, handled) : this.#settle(ended)
    })
  }

  async #leftBehind(aborted: AbortReason, handled: Promise<Ended>): Promise<void> {
    if (aborted === 'timeout') await this.#settle({ error: timedOut(this.#timeoutMs) })
    else if (aborted !== 'lease_lost') await this.giveBack(aborted)
    // Only now: what it says must find its lease ended by us, not end it. That a handler throws because it was told to
    // stop is no news.
    // guard: executor.late
    // guard: executor.late_error
    const heard = (late: Ended) => ('error' in late && aborted !== 'lease_lost' ? undefined : this.#hearLate(late))
    this.#late = handled.then(heard, (error: unknown) => heard({ error }))
  }

  /** It has run: nothing more is said of it, but by a handler that was left behind. */
  letGo(): void | Promise<void> {
    return this.#late ? this.#late.then(this.#reveal) : this.#reveal?.()
  }

  abort(reason: AbortReason): void {
    if (this.#aborted) return // guard: executor.first_reason
    this.#aborted = reason
    // First: a handler that throws because of its signal must not look as if it had failed by itself.
    this.#abandon?.(reason)
    this.#controller?.abort(abortError(reason))
  }

  /** Returns the job at no charge; a cancel that was requested ends it instead. */
  giveBack(reason: 'shutdown' | 'cancelled' | 'no_room'): Promise<void> {
    this.#settling ??= this.#release(reason) // guard: executor.given_back_once
    return this.#settling
  }

  async #release(reason: 'shutdown' | 'cancelled' | 'no_room'): Promise<void> {
    if (reason !== 'no_room') this.abort(reason)
    const { events, turns } = this.#bench
    const { jobId, leaseId, nonce, task, queue } = this.lease
    const released = await turns.release({ jobId, leaseId, nonce, reason })
    if (released.answer === 'cancelled') events.emit('cancelled', { jobId, task, queue })
    else if (released.answer !== 'stale') events.emit('released', { jobId, task, reason })
    else events.emit('stale', { jobId, task, queue, leaseId, said: 'released', outcome: released.outcome })
  }

  async #handle(): Promise<Ended> {
    const { lease } = this
    const job = new RunningJob(this.#bench.db, this.#task, this, this.#bench.payloadBytesMax)
    try {
      // guard: executor.input
      const checked = validated(this.#task.input, lease.payload, `the stored input of task ${lease.task}`)
      const input = checked instanceof Promise ? await checked : checked
      const returned = await this.#task.run(input, job)
      if (job.ended) return await this.#endedInside(job.ended) // guard: executor.ended_inside
      const resultText = job.resultText(returned)
      return { resultText: typeof resultText === 'string' ? resultText : await resultText }
    } catch (error) {
      return job.ended ? this.#endedInside(job.ended, error) : { error } // guard: executor.after_commit
    }
  }

  /** The handler has committed or parked its job by itself; whatever it threw afterwards does not change that. */
  async #endedInside(ended: NonNullable<RunningJob['ended']>, error?: unknown): Promise<Ended> {
    if (ended !== 'in_a_transaction') return { inside: ended }
    // guard: executor.committed
    if ((await leaseFate(this.#bench.db, this.lease)) === 'finished') return { inside: 'committed' }
    return { error: error ?? new FencepostError('FP_TRANSACTION_NOT_COMMITTED', this.lease.jobId) }
  }

  #settle(ended: Ended): Promise<void> {
    this.#settling ??= this.#record(ended, false) // guard: executor.settled_once
    return this.#settling
  }

  /**
   * What a handler says after it was left behind changes nothing, but it is kept: its effects may have happened. Not with
   * a turn: the worker may have stopped meanwhile.
   */
  async #hearLate(ended: Ended): Promise<void> {
    try {
      await this.#record(ended, true)
    } catch (error) {
      this.#bench.events.emit('error', { during: `hearing the late end of job ${this.lease.jobId}`, error })
    }
  }

  #record(ended: Ended, late: boolean): Promise<void> {
    if ('resultText' in ended) return this.#finish(ended.resultText, late)
    if ('error' in ended) return this.#fail(ended.error, late)
    const { jobId, task, tries } = this.lease
    if (ended.inside === 'committed') this.#bench.events.emit('finished', { jobId, task, attempt: tries })
    else this.#bench.events.emit('parked', { jobId, task })
    return Promise.resolve()
  }

  #finish(resultText: string, late: boolean): Promise<void> {
    const { db, turns } = this.#bench
    const { jobId, leaseId, nonce } = this.lease
    const item = { jobId, leaseId, nonce, resultText }
    const told = late ? finish(db, [item]).then(([finished]) => finished as Finished) : turns.finish(item)
    return told.then(
      (finished) => this.#finished(finished, late),
      (error: unknown) => {
        if (isClosed(error)) throw error
        // The database cannot store this result, and never will: the job must not stay leased because of that.
        // guard: executor.unstorable
        return this.#fail(new NonRetryable('the result cannot be stored', { cause: error }), late)
      },
    )
  }

  #finished(finished: Finished, late: boolean): void {
    const { events } = this.#bench
    const { jobId, leaseId, task, queue, tries } = this.lease
    if (finished.answer === 'stale') {
      events.emit('stale', { jobId, task, queue, leaseId, said: 'succeeded', outcome: finished.outcome })
    } else if (!late) {
      events.emit('finished', { jobId, task, attempt: tries })
    }
    if (finished.duplicate) events.emit('duplicate_success', { jobId, leaseId })
  }

  async #fail(error: unknown, late: boolean): Promise<void> {
    const { db, events, turns } = this.#bench
    const { jobId, leaseId, nonce, task, queue, tries, failures, failuresMax } = this.lease
    const tell = (item: Failure) =>
      late ? fail(db, [item]).then(([told]) => told as Settled<FailAnswer>) : turns.fail(item)
    // A retry by a person raises the budget; the backoff starts anew with it.
    const failuresInBudget = failures + 1 - Math.max(0, failuresMax - this.#retry.limit) // guard: executor.budget
    const verdict = verdictOf(error, this.#retry, Math.max(1, failuresInBudget), Math.random())
    const { delayMs, final } = verdict
    const failure = { jobId, leaseId, nonce, errorText: JSON.stringify(verdict.error), delayMs, final }
    const failed = await tell(failure).catch((refused: unknown) => {
      if (isClosed(refused)) throw refused
      const plain = { name: 'Error', message: 'the error of the handler cannot be stored' }
      return tell({ ...failure, errorText: JSON.stringify(plain) }) // guard: executor.plain_error
    })
    if (failed.answer === 'stale') {
      events.emit('stale', { jobId, task, queue, leaseId, said: 'failed', outcome: failed.outcome })
    } else if (!late) {
      events.emit('failed', { jobId, task, attempt: tries, error, outcome: failed.outcome })
    }
  }
}

function timedOut(ms: number | undefined): Error {
  return Object.assign(new Error(`timed out after ${ms} ms`), { code: 'FP_TIMED_OUT' })
}

function abortError(reason: AbortReason): FencepostError {
  return new FencepostError(reason === 'lease_lost' ? 'FP_LEASE_LOST' : 'FP_HANDLER_ABORTED', reason)
}

function isClosed(error: unknown): boolean {
  return error instanceof FencepostError && error.code === 'FP_CLOSED'
}
