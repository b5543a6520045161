import { createHash } from 'node:crypto'
import { type ErrorCode, FencepostError } from '../errors.js'
import { type Json, jsonText } from '../job/json.js'
import { limits } from '../limits.js'
import type { Database, Isolation } from '../store/database.js'
import { codeOf, isRolledBackByServer } from '../store/database-errors.js'
import type { Lease } from '../store/lease.js'
import { finish, finishLast, hold, leaseFate, park } from '../store/settle.js'
import { beginStep, endStep } from '../store/step.js'
import { type Duration, durationMs } from '../task/duration.js'
import type {
  CommitOptions,
  JobContext,
  Reconciled,
  StepContext,
  StepOptions,
  Transaction,
} from '../task/job-context.js'
import { checkedName } from '../task/options.js'
import type { Stored } from '../task/stored.js'
import type { Task } from '../task/task.js'
import { validated } from '../task/validate.js'

const commitTriesMax = 3

/** What a job needs to know of the attempt it is in. */
export interface Attempt {
  readonly lease: Lease
  readonly signal: AbortSignal
  /** When the task's timeout strikes, by this process's clock; undefined if it has none. */
  readonly deadlineMs: number | undefined
  /** Not to be extended by heartbeats. */
  held: boolean
  /** The handler is about to end its lease by itself, or has: that it is gone is no loss. */
  leaving: boolean
}

/** How a handler ended its lease by itself. `in_a_transaction`: if the caller's transaction commits. */
type EndedInside = 'committed' | 'in_a_transaction' | 'parked'

/** The job as its handler sees it: what it knows, and the ways to commit, to remember and to wait. */
export class RunningJob implements JobContext {
  readonly id: string
  readonly task: string
  readonly queue: string
  readonly attempt: number
  readonly failures: number
  readonly losses: number
  readonly releases: number
  ended: EndedInside | undefined
  readonly #db: Database
  readonly #attempt: Attempt
  readonly #lease: Lease
  readonly #definition: Task
  readonly #bytesMax: number

  constructor(db: Database, definition: Task, attempt: Attempt, bytesMax: number) {
    const { lease } = attempt
    this.#db = db
    this.#definition = definition
    this.#attempt = attempt
    this.#lease = lease
    this.#bytesMax = bytesMax
    this.id = lease.jobId
    this.task = lease.task
    this.queue = lease.queue
    this.attempt = lease.tries
    this.failures = lease.failures
    this.losses = lease.losses
    this.releases = lease.releases
  }

  get createdAt(): Date {
    return new Date(this.#lease.createdAtMs)
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  async commit<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { isolation = 'read committed' }: CommitOptions = {},
  ): Promise<Result> {
    try {
      if (isolation !== 'read committed') await this.#holdToDeadline(isolation) // guard: running-job.hold
      for (let tries = 1; ; tries++) {
        const committed = await this.#commit(work, isolation, tries < commitTriesMax) // guard: running-job.tries
        if (committed) return committed.result
      }
    } finally {
      this.#attempt.held = false // guard: running-job.unheld
    }
  }

  /** Undefined if the transaction was undone for no fault of the work, and another try is allowed. */
  async #commit<Result>(
    work: (tx: Transaction) => Promise<Result>,
    isolation: Isolation,
    mayRepeat: boolean,
  ): Promise<{ result: Result } | undefined> {
    let item = { ...this.#lease, resultText: 'null' }
    let result: Result | undefined
    try {
      await this.#db.transactionEndingWith(
        isolation,
        async (tx) => {
          result = await work(tx)
          item = { ...item, resultText: await this.resultText(result) }
        },
        (mark, schema) => {
          // guard: running-job.leaving
          this.#attempt.leaving = true
          return finishLast(item, mark, schema)
        },
      )
    } catch (error) {
      this.#attempt.leaving = false // guard: running-job.not_leaving
      // What a stale attempt wanted to say was rolled back with its writes; it is kept all the same. Only the database
      // says that it is stale: an error of that name may also be the reason of the signal, thrown on by the work.
      if (isStale(error)) await finish(this.#db, [item]) // guard: running-job.stale
      const conflict = isRolledBackByServer(error instanceof FencepostError ? error.cause : error)
      if (conflict && mayRepeat) return undefined // guard: running-job.conflict
      if (!isA(error, 'FP_DATABASE_UNREACHABLE')) throw error // guard: running-job.fate
      // The reply was lost, or the transaction before it. The lease tells, as soon as the database is back.
      const fate = await leaseFate(this.#db, this.#lease)
      if (fate === 'held' && mayRepeat && !this.signal.aborted) return undefined // guard: running-job.aborted
      if (fate !== 'finished') throw error // guard: running-job.not_committed
    }
    this.#attempt.leaving = true
    this.ended = 'committed'
    return { result: result as Result }
  }

  async finishIn<Result>(tx: Transaction, result: Result): Promise<Result> {
    await this.#finish(await this.resultText(result), tx)
    this.#attempt.leaving = true
    this.ended = 'in_a_transaction'
    return result
  }

  async step<Result>(
    name: string,
    work: (context: StepContext) => Promise<Result> | Result,
    { onAmbiguous = 'repeat' }: StepOptions<Stored<Result>> = {},
  ): Promise<Stored<Result>> {
    // Shorter than other names: an ambiguous step is waited for under `step:<name>`.
    checkedName(name, 'the step’s name', limits.nameLengthMax - 'step:'.length)
    const context = { key: stepKey(this.id, name), signal: this.signal }
    const begun = await this.#begin(name, onAmbiguous === 'repeat')
    if (begun.answer === 'done') return begun.result as Stored<Result>
    if (begun.answer === 'ambiguous' && onAmbiguous !== 'repeat') {
      if (begun.waitMs > 0) await this.sleep(`step:${name}`, begun.waitMs) // guard: running-job.step_wait
      const known =
        onAmbiguous === 'park'
          ? ((await this.waitFor(`step:${name}`)) as Reconciled<Stored<Result>>)
          : await onAmbiguous(context)
      if (known.happened) return (await this.#remember(name, known.result)) as Stored<Result>
      await this.#begin(name, true) // guard: running-job.step_taken
    }
    let result: Result
    try {
      result = await work(context)
    } catch (error) {
      await endStep(this.#db, this.#lease, name, { threw: true }) // guard: running-job.step_threw
      throw error
    }
    return this.#remember(name, result)
  }

  async sleep(name: string, duration: Duration): Promise<void> {
    await this.#wait(`sleep:${checkedName(name, 'the sleep’s name')}`, durationMs(duration, 'sleep'))
  }

  async waitFor(signal: string, { timeout }: { timeout?: Duration } = {}): Promise<Json> {
    const waitMs = timeout === undefined ? null : durationMs(timeout, 'timeout')
    const { answer, payload } = await this.#wait(checkedName(signal, 'the signal’s name'), waitMs)
    if (answer === 'elapsed') throw new FencepostError('FP_SIGNAL_TIMEOUT', signal)
    return payload
  }

  /** A result as it is stored. */
  resultText(returned: unknown): string | Promise<string> {
    const { output } = this.#definition
    // guard: running-job.output
    return output ? this.#validatedText(output, returned) : jsonText(returned, 'the result', this.#bytesMax)
  }

  async #validatedText(output: NonNullable<Task['output']>, returned: unknown): Promise<string> {
    const result = await validated(output, returned, `the result of task ${this.task}`)
    return jsonText(result, 'the result', this.#bytesMax)
  }

  async #finish(resultText: string, tx: Transaction): Promise<void> {
    const [finished] = await finish(this.#db, [{ ...this.#lease, resultText }], tx)
    // guard: running-job.finish_in_already
    if (finished?.answer === 'already') throw new FencepostError('FP_JOB_COMMITTED', this.id)
    // guard: running-job.finish_in_stale
    if (finished?.answer !== 'finished') throw new FencepostError('FP_LEASE_LOST', this.id)
  }

  /** Above READ COMMITTED a heartbeat in the middle would make the settle fail: the lease is extended once, before. */
  async #holdToDeadline(isolation: Isolation): Promise<void> {
    const { deadlineMs } = this.#attempt
    if (deadlineMs === undefined) {
      // guard: running-job.deadline
      throw new FencepostError('FP_OPTION_INVALID', `a commit at ${isolation} needs a timeout on task ${this.task}`, {
        hint: 'Give the task a timeout: until then its lease is held, whatever becomes of this process.',
      })
    }
    this.#attempt.held = true
    // guard: running-job.hold_lost
    if (await hold(this.#db, this.#lease, deadlineMs - performance.now() + this.#lease.leaseMs)) return
    throw new FencepostError('FP_LEASE_LOST', this.id)
  }

  async #begin(name: string, take: boolean) {
    const begun = await beginStep(this.#db, this.#lease, name, this.#definition.timeoutMs ?? null, take)
    // guard: running-job.step_begin_stale
    if (begun.answer === 'stale') throw new FencepostError('FP_LEASE_LOST', this.id)
    return begun
  }

  async #remember<Result>(name: string, result: Result): Promise<Stored<Result>> {
    const resultText = jsonText(result, `the result of step ${name}`, this.#bytesMax)
    const answer = await endStep(this.#db, this.#lease, name, { resultText })
    if (answer === 'stale') throw new FencepostError('FP_LEASE_LOST', this.id) // guard: running-job.step_end_stale
    return JSON.parse(resultText) as Stored<Result>
  }

  /** Returns if there is nothing to wait for; otherwise the lease has ended, and the handler is ended by the error. */
  async #wait(name: string, waitMs: number | null) {
    this.#attempt.leaving = true // guard: running-job.parking
    const parked = await park(this.#db, this.#lease, name, waitMs).catch((error: unknown) => {
      this.#attempt.leaving = false // guard: running-job.not_parked
      throw error
    })
    this.#attempt.leaving = parked.answer !== 'signalled' && parked.answer !== 'elapsed'
    if (parked.answer === 'signalled' || parked.answer === 'elapsed') return parked
    if (parked.answer === 'stale') throw new FencepostError('FP_LEASE_LOST', this.id) // guard: running-job.parked_stale
    this.ended = 'parked'
    throw new FencepostError('FP_JOB_PARKED', `${this.id} waits for ${name}`)
  }
}

/** Derived, not stored: it must be the same on every attempt, in every process. */
function stepKey(jobId: string, name: string): string {
  return createHash('sha256').update(`${jobId}/${name}`).digest('hex').slice(0, 32)
}

/** The server's own word: FP011 of finish_last. */
function isStale(error: unknown): boolean {
  return error instanceof FencepostError && codeOf(error.cause) === 'FP011' // guard: running-job.server_says
}

function isA(error: unknown, code: ErrorCode): boolean {
  return error instanceof FencepostError && error.code === code
}
