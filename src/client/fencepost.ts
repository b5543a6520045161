import { join } from 'node:path'
import type pg from 'pg'
import { joinEmbeddedServer } from '../embedded/embedded-server.js'
import { FencepostError } from '../errors.js'
import { type EventName, Events, type FencepostEvents } from '../events.js'
import { checkedJobId } from '../job/job-id.js'
import { type Json, jsonText } from '../job/json.js'
import type { Outcome } from '../job/places.js'
import { defaults, limits } from '../limits.js'
import { type CancelAnswer, cancel, type Controlled, type RetryAnswer, retryEnded, type WakeAnswer, wake } from '../store/control.js'
import { Database, type Queryable } from '../store/database.js'
import { announceTasks, type EnqueueAnswer, enqueue } from '../store/enqueue.js'
import { migrate, requireSchema } from '../store/migrator.js'
import { type JobDetail, readJob } from '../store/read.js'
import { checkedSchemaName } from '../store/schema-name.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkedName } from '../task/options.js'
import type { Task } from '../task/task.js'
import { Worker, type WorkOptions } from '../worker/worker.js'
import { type JobOptions, newJob } from './new-job.js'
import { ResultWaiter } from './result-waiter.js'

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
  /** `existing`: a job with this id was there already; it was not touched. */
  readonly answer: EnqueueAnswer
  result(options?: { timeout?: Duration }): Promise<Result>
}

/** The client: one per process and schema. */
export interface Fencepost extends AsyncDisposable {
  enqueue<Input, Result>(task: Task<Input, Result>, input: NoInfer<Input>, options?: EnqueueOptions): Promise<Enqueued<Result>>
  /** All or none, in one statement. */
  enqueueMany<Input, Result>(
    task: Task<Input, Result>,
    jobs: readonly ({ readonly input: NoInfer<Input> } & JobOptions)[],
    options?: { tx?: Queryable },
  ): Promise<Enqueued<Result>[]>
  /** Where the job is, and its history. */
  job(id: string): Promise<JobDetail>
  /** Waits for the end of a job: its result, or an error that tells how it ended. */
  result<Result = Json>(id: string, options?: { timeout?: Duration }): Promise<Result>
  cancel(id: string, options?: { reason?: string; tx?: Queryable }): Promise<{ answer: Exclude<CancelAnswer, 'missing'>; outcome: Outcome | null }>
  retry(id: string, options?: { tx?: Queryable }): Promise<{ answer: Exclude<RetryAnswer, 'missing'> }>
  /** Sends a signal that the job waits for, now or later. */
  signal(id: string, name: string, payload?: unknown, options?: { tx?: Queryable }): Promise<Exclude<WakeAnswer, 'missing'>>
  /** Listens to what this process does and sees; the answer stops listening. */
  on<Name extends EventName>(name: Name, listener: (event: FencepostEvents[Name]) => void): () => void
  /** A transaction whose COMMIT is verified; pass its `tx` to enqueue and to your own queries. */
  transaction<Result>(work: (tx: pg.PoolClient) => Promise<Result>): Promise<Result>
  /** Starts a worker for these tasks. */
  work(tasks: readonly AnyTask[], options?: WorkOptions): Promise<Worker>
  close(): Promise<void>
}

/** A task whatever its input: lists of tasks mix them. */
export type AnyTask = Task<unknown, unknown>

export async function fencepost(options: FencepostOptions = {}): Promise<Fencepost> {
  const schema = checkedSchemaName(options.schema ?? defaults.schema)
  const payloadBytesMax = checkedInteger(options.payloadBytesMax ?? defaults.payloadBytesMax, 'payloadBytesMax', 1, limits.payloadBytesMax)
  const retryMs = durationMs(options.databaseRetry ?? defaults.databaseRetryMs, 'databaseRetry')
  const poolSize = checkedInteger(options.poolSize ?? defaults.poolSize, 'poolSize', 1, 1_000)

  const given = options.database ?? process.env['DATABASE_URL']
  const server = given
    ? undefined
    : await joinEmbeddedServer({
        directory: options.embedded?.directory ?? join(process.cwd(), '.fencepost'),
        keepRunning: options.embedded?.keepRunning ?? false,
      })
  const url = given || (server as NonNullable<typeof server>).url
  try {
    if (options.migrate === false) await requireSchema({ url, schema })
    else await migrate({ url, schema })
  } catch (error) {
    await server?.leave()
    throw error
  }
  const db = new Database({ url, schema, poolSize, retryMs })
  return new Client(db, payloadBytesMax, () => server?.leave() ?? Promise.resolve())
}

class Client implements Fencepost {
  readonly #db: Database
  readonly #payloadBytesMax: number
  readonly #leave: () => Promise<void>
  readonly #events = new Events()
  readonly #waiter: ResultWaiter
  readonly #announced = new Set<string>()
  readonly #workers = new Set<Worker>()

  constructor(db: Database, payloadBytesMax: number, leave: () => Promise<void>) {
    this.#db = db
    this.#payloadBytesMax = payloadBytesMax
    this.#leave = leave
    this.#waiter = new ResultWaiter(db)
    for (const ending of ['finished', 'failed', 'cancelled'] as const) this.#events.on(ending, () => this.#waiter.hurry())
  }

  async enqueue<Input, Result>(task: Task<Input, Result>, input: Input, { tx, ...options }: EnqueueOptions = {}) {
    const [enqueued] = await this.enqueueMany(task, [{ input, ...options }], tx ? { tx } : {})
    return enqueued as Enqueued<Result>
  }

  async enqueueMany<Input, Result>(
    task: Task<Input, Result>,
    items: readonly ({ readonly input: NoInfer<Input> } & JobOptions)[],
    { tx }: { tx?: Queryable } = {},
  ): Promise<Enqueued<Result>[]> {
    checkTask(task)
    if (items.length > limits.enqueueManyMax) {
      throw new FencepostError('FP_OPTION_INVALID', `enqueueMany takes at most ${limits.enqueueManyMax} jobs, not ${items.length}`)
    }
    if (items.length === 0) return []
    const jobs = await Promise.all(
      items.map(({ input, ...options }) => newJob(task as Task<Input>, input, options, this.#payloadBytesMax)),
    )
    await this.#announce(jobs.map((job) => ({ name: job.task, queue: job.queue })))
    const answers = await enqueue(this.#db, jobs, tx)
    return jobs.map((job) => {
      const answer = answers.get(job.id) as EnqueueAnswer
      if (answer === 'enqueued') this.#events.emit('enqueued', { jobId: job.id, task: job.task, queue: job.queue })
      return { id: job.id, answer, result: (waiting) => this.result<Result>(job.id, waiting) }
    })
  }

  async job(id: string) {
    const found = await readJob(this.#db, checkedJobId(id))
    if (!found) throw new FencepostError('FP_JOB_UNKNOWN', id)
    return found
  }

  async result<Result = Json>(id: string, { timeout }: { timeout?: Duration } = {}): Promise<Result> {
    const jobId = checkedJobId(id)
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, 'timeout')
    const ended = await this.#waiter.wait(jobId, timeoutMs)
    if (ended.outcome === 'succeeded') return ended.result as Result
    const { message } = (ended.error ?? {}) as { message?: string }
    throw new FencepostError(
      'FP_JOB_NOT_SUCCEEDED',
      `${jobId} ${ended.outcome}${ended.reason ? ` (${ended.reason})` : ''}${message ? `: ${message}` : ''}`,
      { cause: ended.error },
    )
  }

  async cancel(id: string, { reason, tx }: { reason?: string; tx?: Queryable } = {}) {
    const [row] = await cancel(this.#db, [checkedJobId(id)], reason === undefined ? null : checkedName(reason, 'reason'), tx)
    const { answer, outcome } = row as Controlled<CancelAnswer>
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', id)
    if (answer === 'cancelled') this.#events.emit('cancelled', { jobId: id })
    if (answer === 'requested') this.#events.emit('cancel_requested', { jobId: id })
    return { answer, outcome }
  }

  async retry(id: string, { tx }: { tx?: Queryable } = {}) {
    const [row] = await retryEnded(this.#db, [checkedJobId(id)], tx)
    const { answer } = row as Controlled<RetryAnswer>
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', id)
    if (answer === 'retried') this.#events.emit('retried', { jobId: id })
    return { answer }
  }

  async signal(id: string, name: string, payload: unknown = null, { tx }: { tx?: Queryable } = {}) {
    const text = jsonText(payload, 'the payload of the signal', this.#payloadBytesMax)
    const answer = await wake(this.#db, checkedJobId(id), checkedName(name, 'the signal’s name'), text, tx)
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', id)
    return answer
  }

  on<Name extends EventName>(name: Name, listener: (event: FencepostEvents[Name]) => void) {
    return this.#events.on(name, listener)
  }

  transaction<Result>(work: (tx: pg.PoolClient) => Promise<Result>) {
    return this.#db.transaction(work)
  }

  async work(tasks: readonly AnyTask[], options: WorkOptions = {}) {
    tasks.forEach(checkTask)
    await this.#announce(tasks.map(({ name, queue }) => ({ name, queue })))
    const worker = new Worker(this.#db, this.#events, tasks, options, this.#payloadBytesMax)
    this.#workers.add(worker)
    return worker
  }

  async close() {
    await Promise.all([...this.#workers].map((worker) => worker.stop()))
    this.#waiter.close()
    await this.#db.close()
    await this.#leave()
  }

  [Symbol.asyncDispose]() {
    return this.close()
  }

  /** Once per process and name: not part of the caller's transaction, because a name that is known does no harm. */
  async #announce(names: readonly { name: string; queue: string }[]): Promise<void> {
    const key = ({ name, queue }: { name: string; queue: string }) => JSON.stringify([name, queue])
    const fresh = new Map(names.filter((name) => !this.#announced.has(key(name))).map((name) => [key(name), name]))
    if (fresh.size === 0) return
    await announceTasks(this.#db, [...fresh.values()])
    for (const name of fresh.keys()) this.#announced.add(name)
  }
}

function checkTask(task: AnyTask): void {
  if (typeof task?.run === 'function' && typeof task.name === 'string' && typeof task.leaseMs === 'number') return
  throw new FencepostError('FP_TASK_UNKNOWN', typeof task === 'string' ? `${JSON.stringify(task)} is a name` : typeof task, {
    hint: 'Pass the task itself, as task(name, …) returned it: it carries the schema and the policies.',
  })
}
