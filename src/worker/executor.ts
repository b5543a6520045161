import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import { NonRetryable, verdictOf } from '../job/verdict.js'
import type { Database } from '../store/database.js'
import {
  type FailAnswer,
  type Failure,
  type Finish,
  type Finished,
  fail,
  finish,
  leaseFate,
  type Settled,
} from '../store/settle.js'
import type { TurnLease } from '../store/turn.js'
import type { RetryPolicy } from '../task/retry-policy.js'
import type { Task } from '../task/task.js'
import { itemRetry } from '../workflow/item-retry.js'
import { secretsIn } from '../workflow/secret-flow.js'
import { validated } from '../task/validate.js'
import type { Deadlines, Timed } from './deadlines.js'
import { type Attempt, RunningJob } from './running-job.js'
import type { Finisher, Turns } from './turns.js'

/** Its result is among the words of the next turn: what becomes of it is told to its Finisher. */
const said = Promise.resolve()

/** What a handler came to. */
type Ended = { readonly resultText: string } | { readonly error: unknown } | { readonly inside: 'committed' | 'parked' }

/** Why a handler is told to stop. */
export type AbortReason = 'timeout' | 'lease_lost' | 'cancelled' | 'shutdown'

/** Who is told how far an execution has come. */
export interface Onlooker {
  /** The handler has ended, or was left behind: its slot is free. */
  handlerEnded(execution: Execution): void
  /** Its end is settled; or cannot be, because of an error. */
  settled(execution: Execution, error?: unknown): void
}

export interface Bench {
  readonly db: Database
  readonly events: Events
  readonly turns: Turns
  readonly deadlines: Deadlines
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
 * The handler's slot is free as soon as it has ended or been left behind; what it came to goes with the next turn. A
 * thousand wait for that at a time, and outlive what is young: each is its own word, and keeps no input, no timer, and its
 * times in whole milliseconds, since a number with a fraction is an object of its own.
 */
export class Execution implements Attempt, Finish, Finisher, Timed {
  readonly lease: TurnLease
  readonly arrivedAtMs: number
  /** By this process's clock: before, the lease cannot have run out. */
  validUntilMs: number
  /** Not to be extended by heartbeats: it was extended to its deadline, and its row must not change. */
  held = false
  leaving = false
  /** Where its worker keeps it: for Held alone. */
  heldAt = -1
  /** By this process's clock; 0 if it has not. */
  begunAtMs = 0
  /** What its handler has returned, until that is settled. */
  resultText = ''
  readonly #bench: Bench
  readonly #task: Task<unknown, unknown>
  #onlooker: Onlooker | undefined
  #controller: AbortController | undefined
  #aborted: AbortReason | undefined
  #over = false
  #settling: Promise<void> | undefined
  /** Hears what a handler says that was left behind. */
  #hearLater: ((late: Ended) => void) | undefined
  /** Until it has ended, and was heard. */
  #late: Promise<void> | undefined
  /** Its secrets may be in what it throws, and in what is said of that. */
  #reveal: (() => void) | undefined

  constructor(bench: Bench, task: Task<unknown, unknown>, lease: TurnLease, sentAtMs: number) {
    this.#bench = bench
    this.#task = task
    this.lease = lease
    this.arrivedAtMs = Math.floor(performance.now())
    this.validUntilMs = Math.floor(sentAtMs + lease.leftMs) // guard: executor.sent
  }

  get kind(): 'finish' {
    return 'finish'
  }

  get item(): Finish {
    return this
  }

  get jobId(): string {
    return this.lease.jobId
  }

  get leaseId(): number {
    return this.lease.leaseId
  }

  get nonce(): number {
    return this.lease.nonce
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(abortError(this.#aborted)) // guard: executor.late_signal
    }
    return this.#controller.signal
  }

  get deadlineMs(): number | undefined {
    return this.#timeoutMs === undefined ? undefined : this.begunAtMs + this.#timeoutMs
  }

  get #timeoutMs(): number | undefined {
    return this.lease.policy?.timeoutMs ?? this.#task.timeoutMs
  }

  get #retry(): RetryPolicy {
    return itemRetry(this.lease.policy, this.lease.tries) ?? this.#task.retry
  }

  get hasBegun(): boolean {
    return this.begunAtMs > 0
  }

  /** Its handler has ended, or was left behind. */
  get isOver(): boolean {
    return this.#over
  }

  /** Its end is decided; what remains is to say so. */
  get isSettling(): boolean {
    return this.#settling !== undefined
  }

  /** Written with callbacks and few promises: there are tens of thousands of these a second, and each is garbage. */
  run(onlooker: Onlooker): void {
    this.#onlooker = onlooker
    if (this.#aborted || this.#settling) {
      // guard: executor.unbegun
      // Told to stop while it waited in line: it never begins.
      this.#over = true
      onlooker.handlerEnded(this)
      const isGone = !this.#aborted || this.#aborted === 'lease_lost'
      this.#settledBy(isGone ? Promise.resolve() : this.giveBack('cancelled'))
      return
    }
    this.begunAtMs = Math.ceil(performance.now())
    this.#bench.deadlines.begun(this) // guard: executor.timeout
    const job = new RunningJob(this.#bench.db, this.#task, this, this.#bench.payloadBytesMax)
    // Now: its time has begun, and it may do much before it first waits.
    this.#begin(job).then(
      (returned) => this.#returned(job, returned),
      (error: unknown) => this.#threw(job, error),
    )
  }

  #begin(job: RunningJob): Promise<unknown> {
    const { task, payload, policy } = this.lease
    try {
      if (policy?.secrets) this.#reveal = this.#bench.events.hide(secretsIn(payload, policy.secrets))
      // guard: executor.input
      const checked = validated(this.#task.input, payload, `the stored input of task ${task}`)
      if (checked instanceof Promise) return checked.then((input) => this.#task.run(input, job))
      return Promise.resolve(this.#task.run(checked, job))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #returned(job: RunningJob, returned: unknown): void {
    try {
      if (job.ended) return this.#handledBy(this.#endedInside(job.ended)) // guard: executor.ended_inside
      const resultText = job.resultText(returned)
      if (typeof resultText === 'string') return this.#handled({ resultText })
      resultText.then(
        (text) => this.#handled({ resultText: text }),
        (error: unknown) => this.#threw(job, error),
      )
    } catch (error) {
      this.#threw(job, error)
    }
  }

  #threw(job: RunningJob, error: unknown): void {
    if (job.ended)
      this.#handledBy(this.#endedInside(job.ended, error)) // guard: executor.after_commit
    else this.#handled({ error })
  }

  /** The handler has committed or parked its job by itself; whatever it threw afterwards does not change that. */
  async #endedInside(ended: NonNullable<RunningJob['ended']>, error?: unknown): Promise<Ended> {
    if (ended !== 'in_a_transaction') return { inside: ended }
    // guard: executor.committed
    if ((await leaseFate(this.#bench.db, this.lease)) === 'finished') return { inside: 'committed' }
    return { error: error ?? new FencepostError('FP_TRANSACTION_NOT_COMMITTED', this.lease.jobId) }
  }

  #handledBy(ended: Promise<Ended>): void {
    ended.then(
      (how) => this.#handled(how),
      (error: unknown) => this.#handled({ error }),
    )
  }

  #handled(ended: Ended): void {
    if (this.#over) return this.#hearLater?.(ended)
    this.#over = true
    this.#handlerEnded()
    this.#settle(ended)
  }

  #handlerEnded(): void {
    this.lease.payload = null // guard: executor.payload
    this.#onlooker?.handlerEnded(this)
  }

  #settledBy(settling: Promise<void>): void {
    settling.then(
      () => this.#onlooker?.settled(this),
      (error: unknown) => this.#onlooker?.settled(this, error),
    )
  }

  /** A handler that ignores its signal is left behind: its job must not wait for it. */
  async #leaveBehind(aborted: AbortReason): Promise<void> {
    const word = new Promise<Ended>((resolve) => {
      this.#hearLater = resolve
    })
    // Not in the middle of who aborts: it may be about to abort others.
    await said
    this.#handlerEnded()
    if (aborted === 'timeout') await (this.#settling ??= this.#fail(timedOut(this.#timeoutMs), false))
    else if (aborted !== 'lease_lost') await this.giveBack(aborted)
    // Only now: what it says must find its lease ended by us, not end it. That a handler throws because it was told to
    // stop is no news.
    // guard: executor.late
    // guard: executor.late_error
    const heard = (late: Ended) => ('error' in late && aborted !== 'lease_lost' ? undefined : this.#hearLate(late))
    this.#late = word.then(heard)
  }

  /** It has run: nothing more is said of it, but by a handler that was left behind. */
  letGo(): void | Promise<void> {
    return this.#late ? this.#late.then(this.#reveal) : this.#reveal?.()
  }

  abort(reason: AbortReason): void {
    if (this.#aborted) return // guard: executor.first_reason
    this.#aborted = reason
    if (this.hasBegun && !this.#over) {
      // guard: executor.left_behind
      // First: a handler that throws because of its signal must not look as if it had failed by itself.
      this.#over = true
      this.#settledBy(this.#leaveBehind(reason))
    }
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

  #settle(ended: Ended): void {
    if (this.#settling) return this.#settledBy(this.#settling) // guard: executor.settled_once
    if ('resultText' in ended) {
      this.#settling = said
      this.resultText = ended.resultText
      this.#bench.turns.finish(this)
    } else {
      this.#settling = this.#record(ended, false)
      this.#settledBy(this.#settling)
    }
  }

  finished(answer: Finished | undefined): void {
    this.#tellFinished(answer, false)
    this.#onlooker?.settled(this)
  }

  refused(error: unknown): void {
    if (isClosed(error)) this.#onlooker?.settled(this, error)
    // The database cannot store this result, and never will: the job must not stay leased because of that.
    else this.#settledBy(this.#fail(unstorable(error), false)) // guard: executor.unstorable
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

  async #record(ended: Ended, late: boolean): Promise<void> {
    if ('error' in ended) return this.#fail(ended.error, late)
    const { jobId, leaseId, nonce, task, tries } = this.lease
    if ('inside' in ended) {
      if (ended.inside === 'committed') this.#bench.events.emit('finished', { jobId, task, attempt: tries })
      else this.#bench.events.emit('parked', { jobId, task })
      return
    }
    try {
      const [finished] = await finish(this.#bench.db, [{ jobId, leaseId, nonce, resultText: ended.resultText }])
      this.#tellFinished(finished, late)
    } catch (error) {
      if (isClosed(error)) throw error
      await this.#fail(unstorable(error), late)
    }
  }

  /** Without an answer it went as one would expect. */
  #tellFinished(finished: Finished | undefined, late: boolean): void {
    const { events } = this.#bench
    const { jobId, leaseId, task, queue, tries } = this.lease
    if (finished?.answer === 'stale') {
      events.emit('stale', { jobId, task, queue, leaseId, said: 'succeeded', outcome: finished.outcome })
    } else if (!late && events.hears('finished')) {
      events.emit('finished', { jobId, task, attempt: tries })
    }
    if (finished?.duplicate) events.emit('duplicate_success', { jobId, leaseId })
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

function unstorable(error: unknown): Error {
  return new NonRetryable('the result cannot be stored', { cause: error })
}

function abortError(reason: AbortReason): FencepostError {
  return new FencepostError(reason === 'lease_lost' ? 'FP_LEASE_LOST' : 'FP_HANDLER_ABORTED', reason)
}

function isClosed(error: unknown): boolean {
  return error instanceof FencepostError && error.code === 'FP_CLOSED'
}
