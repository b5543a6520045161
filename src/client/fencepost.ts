import { join } from 'node:path'
import type pg from 'pg'
import { FencepostError, shown } from '../errors.js'
import { type EventName, Events, type FencepostEvents } from '../events.js'
import { checkedJobId } from '../job/job-id.js'
import { type Json, jsonText } from '../job/json.js'
import type { Outcome } from '../job/places.js'
import { defaults, limits } from '../limits.js'
import {
  type CancelAnswer,
  type Cancelled,
  cancel,
  type Controlled,
  type RetryAnswer,
  retryEnded,
  type WakeAnswer,
  wake,
} from '../store/control.js'
import { checkedSqsOptions, type SqsOptions } from '../sqs/sqs-options.js'
import type { SqsServer } from '../sqs/sqs-server.js'
import { Database, type Queryable } from '../store/database.js'
import { type EnqueueAnswer, enqueue, type NewJob } from '../store/enqueue.js'
import {
  type GateDetail,
  type GateView,
  listGates,
  pause,
  readGate,
  resume,
  type SkipAnswer,
  setLimit,
  skip,
} from '../store/gates.js'
import { migrate, requireSchema } from '../store/migrator.js'
import { type JobDetail, listQueues, type QueueView, readJob, readOutcomes } from '../store/read.js'
import { checkedSchemaName } from '../store/schema-name.js'
import { type Duration, durationMs } from '../task/duration.js'
import type { StoredGate } from '../task/gate.js'
import { checkedGateKey, checkedLimitKey, type PauseTarget, pausedThing } from '../task/gate-key.js'
import { checkedInteger, checkedName, checkIsOptions, checkListen, checkOptionNames } from '../task/options.js'
import type { Task } from '../task/task.js'
import type { Alone } from '../worker/turns.js'
import { Worker, type WorkOptions } from '../worker/worker.js'
import { Announcer } from './announcer.js'
import { GateDisputes } from './gate-disputes.js'
import { GatheredEnqueues } from './gathered-enqueues.js'
import { type JobOptions, newJobs } from './new-job.js'
import { ResultWaiter } from './result-waiter.js'
import { checkCallOptions } from './transaction-check.js'
import { unknownGate } from './unknown-gate.js'
import { Workflows } from './workflows.js'

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

export async function fencepost(options: FencepostOptions = {}): Promise<Fencepost> {
  checkOptionNames(options, known, 'fencepost()')
  const schema = checkedSchemaName(options.schema ?? defaults.schema)
  const payloadBytesMax = checkedInteger(
    options.payloadBytesMax ?? defaults.payloadBytesMax,
    'payloadBytesMax',
    1,
    limits.payloadBytesMax,
  )
  const retryMs = durationMs(options.databaseRetry ?? defaults.databaseRetryMs, 'databaseRetry')
  const poolSize = checkedInteger(options.poolSize ?? defaults.poolSize, 'poolSize', 1, limits.poolSizeMax)

  if (options.embedded !== undefined) checkEmbedded(options.embedded)
  const given = options.database ?? process.env['DATABASE_URL']
  const server = given ? undefined : await embeddedServer(options.embedded)
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

const known = [
  'database',
  'schema',
  'migrate',
  'poolSize',
  'payloadBytesMax',
  'databaseRetry',
  'embedded',
] as const satisfies (keyof FencepostOptions)[]

const knownToWork = ['concurrency', 'queues', 'poll', 'grace', 'listen'] as const satisfies (keyof WorkOptions)[]

class Client implements Fencepost {
  readonly #db: Database
  readonly #payloadBytesMax: number
  readonly #leave: () => Promise<void>
  readonly #events = new Events()
  readonly #waiter: ResultWaiter
  readonly #announcer: Announcer
  readonly #enqueues: GatheredEnqueues
  readonly #workers = new Set<Worker>()
  readonly #sqsServers = new Set<SqsServer>()
  readonly workflows: Workflows
  readonly #disputes = new GateDisputes(this.#events)
  #closing: Promise<void> | undefined

  constructor(db: Database, payloadBytesMax: number, leave: () => Promise<void>) {
    this.#db = db
    this.#payloadBytesMax = payloadBytesMax
    this.#leave = leave
    this.#announcer = new Announcer(db)
    this.#enqueues = new GatheredEnqueues(db, (jobs, alone) => this.#carry(jobs, alone))
    this.#waiter = new ResultWaiter((ids) => readOutcomes(db, ids))
    const hurry = () => this.#waiter.hurry()
    for (const ending of ['finished', 'failed', 'cancelled', 'advanced'] as const) this.#events.on(ending, hurry)
    this.workflows = new Workflows(db, payloadBytesMax, (id, options) => this.result(id, options))
  }

  async enqueue<Input, Result>(task: Task<Input, Result>, input: Input, options: EnqueueOptions = {}) {
    checkIsOptions(options, 'enqueue()')
    const { tx, ...ofJob } = options
    const [enqueued] = await this.enqueueMany(task, [{ input, ...ofJob }], tx === undefined ? {} : { tx })
    return enqueued as Enqueued<Result>
  }

  async enqueueMany<Input, Result>(
    task: Task<Input, Result>,
    items: readonly ({ readonly input: NoInfer<Input> } & JobOptions)[],
    options: { tx?: Queryable } = {},
  ): Promise<Enqueued<Result>[]> {
    checkTask(task)
    checkCallOptions(options, [], 'enqueueMany()')
    const { tx } = options
    const onGate = (gate: StoredGate) => this.#disputes.hear(task.name, gate)
    const checked = newJobs(task, items, this.#payloadBytesMax, onGate)
    const ownIds = items.some(({ id }) => id !== undefined) // at once: the caller may use the array for something else
    const jobs = await checked
    if (jobs.length === 0) return []
    const announced = this.#announcer.announce(jobs)
    // A transaction may hold the last connection of the pool: then the names are told when there is one again.
    if (tx) announced.catch((error: unknown) => this.#events.emit('error', { during: 'announcing a task', error }))
    else await announced
    const answers = await (tx ? enqueue(this.#db, jobs, tx, !ownIds) : this.#enqueues.enqueue(jobs, ownIds))
    return jobs.map((job) => {
      const answer = answers.get(job.id) as EnqueueAnswer
      answers.set(job.id, 'existing') // an id that is given twice is one job
      if (answer !== 'existing') this.#events.emit('enqueued', { jobId: job.id, task: job.task, queue: job.queue })
      if (answer === 'discarded') this.#events.emit('discarded', { jobId: job.id, task: job.task })
      return { id: job.id, answer, result: (waiting) => this.result<Result>(job.id, waiting) }
    })
  }

  /** By the first of the workers that has handlers free for them. */
  #carry(jobs: readonly NewJob[], alone: Alone): Promise<unknown> | undefined {
    for (const worker of this.#workers) {
      const carried = worker.carry(jobs, alone)
      if (carried) return carried
    }
    return undefined
  }

  async job(id: string) {
    const found = await readJob(this.#db, checkedJobId(id))
    if (!found) throw new FencepostError('FP_JOB_UNKNOWN', id)
    return found
  }

  queues() {
    return listQueues(this.#db)
  }

  gates() {
    return listGates(this.#db)
  }

  async gate(key: string) {
    const found = await readGate(this.#db, checkedGateKey(key, 'key'))
    if (!found) throw await unknownGate(this.#db, key)
    return found
  }

  async setLimit(key: string, limit: number | null) {
    const checked = limit === null ? null : checkedInteger(limit, 'limit', 1, limits.gateLimitMax)
    return setLimit(this.#db, checkedLimitKey(key, 'key'), checked)
  }

  async pause(what: PauseTarget) {
    const changed = await pause(this.#db, pausedThing(what))
    return { answer: changed ? ('paused' as const) : ('already' as const) }
  }

  async resume(what: PauseTarget) {
    const changed = await resume(this.#db, pausedThing(what))
    return { answer: changed ? ('resumed' as const) : ('already' as const) }
  }

  async skip(id: string, options: { tx?: Queryable } = {}) {
    const jobId = checkedJobId(id)
    checkCallOptions(options, [], 'skip()')
    const answer = await skip(this.#db, jobId, options.tx)
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', jobId)
    return { answer }
  }

  async result<Result = Json>(id: string, options: { timeout?: Duration } = {}): Promise<Result> {
    const jobId = checkedJobId(id)
    checkOptionNames(options, ['timeout'], 'result()')
    const { timeout } = options
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, 'timeout', 0, limits.timerMsMax)
    const ended = await this.#waiter.wait(jobId, timeoutMs)
    if (ended.outcome === 'succeeded') return ended.result as Result
    const { message } = (ended.error ?? {}) as { message?: string }
    throw new FencepostError(
      'FP_JOB_NOT_SUCCEEDED',
      `${jobId} ${ended.outcome}${ended.reason ? ` (${ended.reason})` : ''}${message ? `: ${message}` : ''}`,
      { cause: ended.error, ...(ended.isRun && { hint: `\`fencepost workflow show ${jobId}\` tells why.` }) },
    )
  }

  async cancel(id: string, options: { reason?: string; tx?: Queryable } = {}) {
    const jobId = checkedJobId(id)
    checkCallOptions(options, ['reason'], 'cancel()')
    const { reason, tx } = options
    const [row] = await cancel(this.#db, [jobId], reason === undefined ? null : checkedName(reason, 'reason'), tx)
    const { answer, outcome, task, queue } = row as Cancelled
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', jobId)
    if (answer === 'cancelled') this.#events.emit('cancelled', { jobId, task, queue })
    if (answer === 'requested') this.#events.emit('cancel_requested', { jobId })
    return { answer, outcome }
  }

  async retry(id: string, options: { tx?: Queryable } = {}) {
    const jobId = checkedJobId(id)
    checkCallOptions(options, [], 'retry()')
    const [row] = await retryEnded(this.#db, [jobId], options.tx)
    const { answer } = row as Controlled<RetryAnswer>
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', jobId)
    if (answer === 'retried') this.#events.emit('retried', { jobId })
    return { answer }
  }

  async signal(id: string, name: string, payload: unknown = null, options: { tx?: Queryable } = {}) {
    const jobId = checkedJobId(id)
    checkCallOptions(options, [], 'signal()')
    const text = jsonText(payload, 'the payload of the signal', this.#payloadBytesMax)
    const answer = await wake(this.#db, jobId, checkedName(name, 'the signal’s name'), text, options.tx)
    if (answer === 'missing') throw new FencepostError('FP_JOB_UNKNOWN', jobId)
    return answer
  }

  on<Name extends EventName>(name: Name, listener: (event: FencepostEvents[Name]) => void) {
    return this.#events.on(name, listener)
  }

  masked(thrown: unknown) {
    return this.#events.masked(thrown)
  }

  transaction<Result>(work: (tx: pg.PoolClient) => Promise<Result>) {
    return this.#db.transaction(work)
  }

  async work(tasks: readonly AnyTask[], options: WorkOptions = {}) {
    if (!Array.isArray(tasks) || tasks.length === 0) {
      throw new FencepostError('FP_OPTION_INVALID', 'work takes an array of at least one task')
    }
    tasks.forEach(checkTask)
    checkOptionNames(options, knownToWork, 'work()')
    if (options.listen !== undefined) checkListen(options.listen, 'listen')
    for (const each of tasks) this.#disputes.hearTask(each)
    await this.#announcer.announce(tasks.map(({ name, queue }) => ({ task: name, queue })))
    if (this.#closing) throw new FencepostError('FP_CLOSED')
    const worker = new Worker(this.#db, this.#events, tasks, options, this.#payloadBytesMax)
    this.#workers.add(worker)
    try {
      await worker.begin()
    } catch (error) {
      this.#workers.delete(worker)
      await worker.stop()
      throw error
    }
    return worker
  }

  async serveSqs(options: SqsOptions = {}) {
    const settings = checkedSqsOptions(options, 'serveSqs()')
    // Most programs never speak it.
    const { startSqsServer } = await import('../sqs/sqs-server.js')
    if (this.#closing) throw new FencepostError('FP_CLOSED')
    const server = await startSqsServer(this.#db, this.#events, settings)
    this.#sqsServers.add(server)
    return server
  }

  close() {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close() {
    await Promise.all([
      ...[...this.#workers].map((worker) => worker.stop()),
      ...[...this.#sqsServers].map((server) => server.close()),
    ])
    this.#waiter.close()
    await this.#db.close()
    await this.#leave()
  }

  [Symbol.asyncDispose]() {
    return this.close()
  }
}

async function embeddedServer({ directory, keepRunning = false }: FencepostOptions['embedded'] = {}) {
  // Who has a server needs none of it.
  const { joinEmbeddedServer } = await import('../embedded/embedded-server.js')
  return joinEmbeddedServer({ directory: directory ?? join(process.cwd(), '.fencepost'), keepRunning })
}

function checkEmbedded(options: NonNullable<FencepostOptions['embedded']>): void {
  checkOptionNames(options, ['directory', 'keepRunning'], 'embedded')
  const { directory } = options
  if (directory === undefined || (typeof directory === 'string' && !directory.includes('\u0000'))) return
  throw new FencepostError('FP_OPTION_INVALID', `directory of embedded must be a path, not ${shown(directory)}`)
}

function checkTask(task: AnyTask): void {
  if (typeof task?.run === 'function' && typeof task.name === 'string' && typeof task.leaseMs === 'number') return
  const given = typeof task === 'string' ? `${shown(task)} is a name` : shown(task)
  throw new FencepostError('FP_TASK_UNKNOWN', given, {
    hint: 'Pass the task itself, as task(name, …) returned it: it carries the schema and the policies.',
  })
}
