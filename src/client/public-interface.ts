import type pg from 'pg'
import type { EventName, FencepostEvents } from '../events.js'
import type { Json } from '../job/json.js'
import type { Outcome } from '../job/places.js'
import type { SqsOptions } from '../sqs/sqs-options.js'
import type { SqsServer } from '../sqs/sqs-server.js'
import type { CancelAnswer, RetryAnswer, WakeAnswer } from '../store/control.js'
import type { Queryable } from '../store/database.js'
import type { EnqueueAnswer } from '../store/enqueue.js'
import type { GateDetail, GateView, SkipAnswer } from '../store/gates.js'
import type { JobDetail, QueueView } from '../store/read.js'
import type { Duration } from '../task/duration.js'
import type { PauseTarget } from '../task/gate-key.js'
import type { Task } from '../task/task.js'
import type { Worker, WorkOptions } from '../worker/worker.js'
import type { JobOptions } from './new-job.js'
import type { Workflows } from './workflows.js'

export interface FencepostOptions {
  /** postgres://…; without it DATABASE_URL, and without that an embedded PostgreSQL in `.fencepost/`. */
  readonly database?: string | undefined
  readonly schema?: string
  /** Bring the schema up to date at start (the default), or only check that it is. */
  readonly migrate?: boolean
  readonly poolSize?: number
  readonly payloadBytesMax?: number
  /** How long a move is repeated while the database is away. */
  readonly databaseRetry?: Duration
  readonly embedded?: {
    /** Where the embedded server keeps its data; `.fencepost` in the working directory by default. */
    readonly directory?: string
    /** Leave the server running when the last process has gone. */
    readonly keepRunning?: boolean
  }
}

export interface EnqueueOptions extends JobOptions {
  /** A connection in a transaction of yours: the job exists if and only if that transaction commits. */
  readonly tx?: Queryable
}

export interface Enqueued<Result> {
  readonly id: string
  /**
   * `existing`: a job with this id was there already; it was not touched. `discarded`: its gate was full, and it did not
   * want to wait; `pending`: that will be decided when the transaction has committed.
   */
  readonly answer: EnqueueAnswer
  result(options?: { timeout?: Duration }): Promise<Result>
}

/** The client: one per process and schema. */
export interface Fencepost extends AsyncDisposable {
  enqueue<Input, Result>(
    task: Task<Input, Result>,
    input: NoInfer<Input>,
    options?: EnqueueOptions,
  ): Promise<Enqueued<Result>>
  /** All or none, in one statement. */
  enqueueMany<Input, Result>(
    task: Task<Input, Result>,
    jobs: readonly ({ readonly input: NoInfer<Input> } & JobOptions)[],
    options?: { tx?: Queryable },
  ): Promise<Enqueued<Result>[]>
  /** Where the job is, and its history. */
  job(id: string): Promise<JobDetail>
  /** How many jobs are in each place of each queue, now; those that have ended are not counted. */
  queues(): Promise<QueueView[]>
  /** The gates that are in use, those with the longest lines first. */
  gates(): Promise<GateView[]>
  /** Who holds a gate, and who waits at it. Keys begin with their kind: `gate:`, `fifo:` (strict) or `group:`. */
  gate(key: string): Promise<GateDetail>
  /**
   * Sets the limit of a gate over what the tasks declare; null takes that back. Raised, waiters are admitted at once;
   * lowered, nobody is stopped. Answers the limit that was in force, null if there was none.
   */
  setLimit(key: string, limit: number | null): Promise<number | null>
  /** Nothing more is started of a paused queue or task, nobody is let through a paused gate. What runs goes on. */
  pause(what: PauseTarget): Promise<{ answer: 'paused' | 'already' }>
  resume(what: PauseTarget): Promise<{ answer: 'resumed' | 'already' }>
  /**
   * Lets the others pass a job that keeps its strict gate while it is delayed or parked. When it is due it waits there
   * again, ahead of those who came after it. Any other answer than `skipped` tells where the job is: it blocks nobody.
   */
  skip(id: string, options?: { tx?: Queryable }): Promise<{ answer: Exclude<SkipAnswer, 'missing'> }>
  /** Waits for the end of a job: its result, or an error that tells how it ended. */
  result<Result = Json>(id: string, options?: { timeout?: Duration }): Promise<Result>
  cancel(
    id: string,
    options?: { reason?: string; tx?: Queryable },
  ): Promise<{ answer: Exclude<CancelAnswer, 'missing'>; outcome: Outcome | null }>
  retry(id: string, options?: { tx?: Queryable }): Promise<{ answer: Exclude<RetryAnswer, 'missing'> }>
  /** Sends a signal that the job waits for, now or later. */
  signal(
    id: string,
    name: string,
    payload?: unknown,
    options?: { tx?: Queryable },
  ): Promise<Exclude<WakeAnswer, 'missing'>>
  /** Workflows and their runs. */
  readonly workflows: Workflows
  /** Listens to what this process does and sees; the answer stops listening. */
  on<Name extends EventName>(name: Name, listener: (event: FencepostEvents[Name]) => void): () => void
  /**
   * What was thrown, as a log may show it: a copy in which the values of secret parameters are hidden that the jobs which
   * run in this process have in their inputs. For listeners that write logs of their own; `attachLogger` does it.
   */
  masked(thrown: unknown): unknown
  /** A transaction whose COMMIT is verified; pass its `tx` to enqueue and to your own queries. */
  transaction<Result>(work: (tx: pg.PoolClient) => Promise<Result>): Promise<Result>
  /** Starts a worker for these tasks. */
  work(tasks: readonly AnyTask[], options?: WorkOptions): Promise<Worker>
  /** Speaks SQS: any AWS SDK can send to the queues, receive and delete. */
  serveSqs(options?: SqsOptions): Promise<SqsServer>
  close(): Promise<void>
}

/** A task whatever its input: lists of tasks mix them. */
export type AnyTask = Task<unknown, unknown>
