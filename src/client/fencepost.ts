import { join } from 'node:path'
import type pg from 'pg'
import { FencepostError, shown } from '../errors.js'
import { type EventName, Events, type FencepostEvents } from '../events.js'
import { checkedJobId } from '../job/job-id.js'
import { type Json, jsonText } from '../job/json.js'
import { defaults, limits } from '../limits.js'
import { type Cancelled, cancel, type Controlled, type RetryAnswer, retryEnded, wake } from '../store/control.js'
import { checkedSqsOptions, type SqsOptions } from '../sqs/sqs-options.js'
import type { SqsServer } from '../sqs/sqs-server.js'
import { Database, type Queryable } from '../store/database.js'
import { enqueueExceptions, type NewJob } from '../store/enqueue.js'
import { listGates, pause, readGate, resume, setLimit, skip } from '../store/gates.js'
import { migrate, requireSchema } from '../store/migrator.js'
import { listQueues, readJob, readOutcomes } from '../store/read.js'
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
import type { AnyTask, Enqueued, EnqueueOptions, Fencepost, FencepostOptions } from './public-interface.js'
import { ResultWaiter } from './result-waiter.js'
import { checkCallOptions } from './transaction-check.js'
import { unknownGate } from './unknown-gate.js'
import { Workflows } from './workflows.js'

export type { AnyTask, Enqueued, EnqueueOptions, Fencepost, FencepostOptions } from './public-interface.js'

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
    // What is there is not waited for: twenty callers at a time are answered 4 % sooner.
    const jobs = checked instanceof Promise ? await checked : checked
    if (jobs.length === 0) return []
    const announced = this.#announcer.announce(jobs)
    // A transaction may hold the last connection of the pool: then the names are told when there is one again.
    if (tx) announced?.catch((error: unknown) => this.#events.emit('error', { during: 'announcing a task', error }))
    else if (announced) await announced
    const exceptions = await (tx
      ? enqueueExceptions(this.#db, jobs, tx, !ownIds)
      : this.#enqueues.enqueue(jobs, ownIds))
    return jobs.map((job) => {
      const answer = exceptions.get(job.id) ?? 'enqueued'
      if (ownIds) exceptions.set(job.id, 'existing') // an id that is given twice is one job
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
