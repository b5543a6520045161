import type { Duration } from './duration.js'
import type { Json, Stored } from './stored.js'

/** A transaction: what takes statements. `pg`’s Client and PoolClient are ones. */
export interface Transaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** What a reconcile function says of a step that may have happened. */
export type Reconciled<Result> = { readonly happened: true; readonly result: Result } | { readonly happened: false }

export interface StepContext {
  /** The same on every attempt: give it to the other side as the idempotency key. */
  readonly key: string
  readonly signal: AbortSignal
}

export interface StepOptions<Result> {
  /**
   * What to do when an earlier attempt began this step and recorded no result, so that its effect may have happened:
   * repeat it with the same key (the default), ask a function whether it happened, or park the job until a person says
   * so by `fp.signal(id, 'step:<name>', { happened, result })`. The last two first wait until the earlier attempt must
   * be over.
   */
  readonly onAmbiguous?: 'repeat' | 'park' | ((context: StepContext) => Promise<Reconciled<Result>>)
}

export interface CommitOptions {
  /**
   * `read committed` by default. Above it, the lease is first made to last until the task's timeout, which there must
   * be.
   */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
}

/** What a handler knows about the attempt it is, and what it can do. */
export interface JobContext {
  readonly id: string
  readonly task: string
  readonly queue: string
  /** 1 on the first try; counts every lease the job ever had. */
  readonly attempt: number
  readonly failures: number
  readonly losses: number
  readonly releases: number
  readonly createdAt: Date
  /** Aborted when the task's timeout has passed, the lease is lost, the job is cancelled or the worker shuts down. */
  readonly signal: AbortSignal

  /**
   * The handler's writes in this database and the outcome of the job, in one transaction: both or neither, once. What
   * `work` returns is the job's result; nothing the handler does afterwards changes it. If the database undoes the
   * transaction (a lost connection, a deadlock, a serialization failure), `work` runs again, up to three times in all.
   */
  commit<Result>(work: (tx: Transaction) => Promise<Result>, options?: CommitOptions): Promise<Result>
  /**
   * The same in a transaction of your own: its last statement before you commit it. Throws if the lease is lost; then
   * roll back.
   */
  finishIn<Result>(tx: Transaction, result: Result): Promise<Result>
  /**
   * For an effect elsewhere: its intent is recorded before, its result after, and a later attempt gets that result
   * instead of doing it again. Once only, if the other side honours the key.
   */
  step<Result>(
    name: string,
    work: (context: StepContext) => Promise<Result> | Result,
    options?: StepOptions<Stored<Result>>,
  ): Promise<Stored<Result>>
  /** Parks the job; no worker is held. The handler starts again from its beginning when the time has passed. */
  sleep(name: string, duration: Duration): Promise<void>
  /** Parks the job until the signal is sent; one that was sent before is kept. */
  waitFor(signal: string, options?: { timeout?: Duration }): Promise<Json>
}
