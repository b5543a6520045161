import pg from 'pg'
import { Events } from '../events.js'
import type { Fence } from '../job/places.js'
import { cancel, markOverrun } from '../store/control.js'
import { Database, type Queryable } from '../store/database.js'
import { enqueue, type NewJob } from '../store/enqueue.js'
import { claim, extend, type Lease, loseExpired, start } from '../store/lease.js'
import { inSchema } from '../store/schema-name.js'
import { fail, finish, finishLast, release } from '../store/settle.js'
import { beginStep, endStep } from '../store/step.js'
import type { StoredGate } from '../task/gate.js'
import { Turns } from '../worker/turns.js'
import { advanceLabClock } from './lab-clock.js'
import { callOutside } from './outside-world.js'
import type { RunSteps, RunStepsOptions } from './run-steps.js'
import { SqsSteps } from './sqs-steps.js'

const labQueue = 'lab'
export const labGate = 'gate:card'
export const labLeaseMs = 30_000

export interface ActorOptions {
  readonly name: string
  readonly url: string
  readonly schema: string
  readonly jobIds: readonly string[]
  readonly runIds: readonly string[]
  /** The guard is out: a step that shows a guard of the client's, not of a function, leaves it out, too. */
  readonly naive: boolean
}

/** What a worker, a producer or a rescuer can do in a scenario, through the same store functions as the product. */
export class Actor {
  readonly name: string
  readonly naive: boolean
  readonly jobIds: readonly string[]
  readonly runIds: readonly string[]
  readonly db: Database
  /** What it does as a server that speaks SQS, or as a client of one. */
  readonly sqs: SqsSteps
  lease: Fence | undefined
  /** The jobs whose handlers are at work, from the claim to the word about their end; and those at the busiest moment. */
  readonly running = new Set<string>()
  ran: ReadonlySet<string> = new Set()
  readonly #runs: RunSteps | undefined
  #turn = 0
  #open: { close: () => void; committed: Promise<string> } | undefined
  readonly #url: string

  /** `runSteps` is missing in a play without runs: what makes them loads the workflow engine. */
  constructor(options: ActorOptions, runSteps?: (options: RunStepsOptions) => RunSteps) {
    this.name = options.name
    this.naive = options.naive
    this.jobIds = options.jobIds
    this.runIds = options.runIds
    this.#url = options.url
    this.db = new Database({
      url: options.url,
      schema: options.schema,
      poolSize: 2,
      retryMs: 10_000,
      applicationName: options.name,
    })
    this.#runs = runSteps?.({ db: this.db, queue: labQueue, leaseMs: labLeaseMs })
    this.sqs = new SqsSteps({ db: this.db, name: this.name, queue: labQueue, tokens: this.jobIds })
  }

  /** What it does for runs of workflows. */
  get runs(): RunSteps {
    if (!this.#runs) throw new Error('a scenario with runs says how many: `runs`')
    return this.#runs
  }

  /** Enqueues all jobs of the scenario in one call. */
  async enqueue(): Promise<string> {
    const answers = await enqueue(this.db, this.jobIds.map(labJob))
    return [...new Set(answers.values())].join(', ')
  }

  /** Stores these of the scenario's jobs behind a gate, in a transaction of the caller's if one is given. */
  async enqueueBehind(gate: Partial<StoredGate>, indexes: readonly number[], tx?: Queryable): Promise<string> {
    const gatesText = JSON.stringify([{ key: labGate, limit: 1, onFull: 'wait', ...gate }])
    const jobs = indexes.map((index) => ({ ...labJob(this.jobIds[index] as string), gatesText }))
    await enqueue(this.db, jobs, tx)
    return tx ? 'enqueued' : this.places(indexes)
  }

  /** Where jobs are, one after the other. */
  async places(indexes: readonly number[]): Promise<string> {
    const rows = await this.sql<{ place: string }>(
      `select coalesce(v.outcome::text, v.place) as place
       from unnest($1::uuid[]) with ordinality as a(id, n) join fencepost.jobs v on v.id = a.id order by a.n`,
      [indexes.map((index) => this.jobIds[index])],
    )
    return rows.map(({ place }) => place).join(', ')
  }

  /** A person's word on the limit. */
  async setLimit(limit: number): Promise<string> {
    await this.sql('select fencepost.set_limit($1, $2)', [labGate, limit])
    return `limit ${limit}`
  }

  /** What a worker does at its next turn: it heeds the nudges. */
  async heed(): Promise<string> {
    await this.sql('select fencepost.admit(null, true, true, 200)')
    return 'heeded'
  }

  /** And then leases the next job. */
  async heedAndClaim(): Promise<string> {
    await this.heed()
    return this.claim()
  }

  /** Maintenance: slots that are held for too long. */
  async overrun(): Promise<string> {
    return (await markOverrun(this.db)).map(({ leaseId }) => `lease ${leaseId} overrun`).join(', ') || 'nothing overrun'
  }

  /** Leases the next job, of these tasks only if any are named, and marks it started; remembers the lease. */
  async claim(tasks?: readonly string[]): Promise<string> {
    const known = tasks ? { tasks } : {}
    const [lease] = await claim(this.db, { queue: labQueue, limit: 1, worker: this.name, turn: ++this.#turn, ...known })
    if (!lease) return 'nothing to claim'
    this.lease = lease
    await start(this.db, [lease])
    this.running.add(lease.jobId)
    if (this.running.size > this.ran.size) this.ran = new Set(this.running)
    return `lease ${lease.leaseId}`
  }

  /** Says only: finished. */
  async finish(): Promise<string> {
    const [answer] = await finish(this.db, [{ ...this.#ending(), resultText: JSON.stringify(this.name) }])
    return answer?.answer ?? 'no answer'
  }

  async fail(final = false): Promise<string> {
    const [answer] = await fail(this.db, [{ ...this.#ending(), errorText: '{"message":"no"}', delayMs: 0, final }])
    return answer?.answer ?? 'no answer'
  }

  /** Gives the job back, as a worker that shuts down does. */
  async release(reason = 'shutdown'): Promise<string> {
    const [answer] = await release(this.db, [this.#ending()], reason)
    return answer?.answer ?? 'no answer'
  }

  /** The effect, unless it is there, and then the outcome in a statement of its own, as a worker's turn says it. */
  async applyAndFinish(): Promise<string> {
    await this.applyOnce()
    return this.finish()
  }

  /** The effect and the outcome in one transaction; the fence is its last statement, and a stale one rolls it back. */
  async commit(): Promise<string> {
    const finishing = { ...this.#ending(), resultText: JSON.stringify(this.name) }
    const stale = Symbol('stale')
    try {
      return await this.db.transaction(async (tx) => {
        await this.#apply(tx, finishing)
        const [answer] = await finish(this.db, [finishing], tx)
        if (answer?.answer !== 'finished') throw stale
        return answer.answer
      })
    } catch (error) {
      if (error !== stale) throw error
    }
    const [answer] = await finish(this.db, [finishing])
    return `${answer?.answer}, rolled back`
  }

  /** The same, but stops before COMMIT: its locks are held until closeCommit. */
  async openCommit(): Promise<string> {
    const finishing = { ...this.#ending(), resultText: JSON.stringify(this.name) }
    return this.open(async (tx) => {
      await this.#apply(tx, finishing)
      const [answer] = await finish(this.db, [finishing], tx)
      return answer?.answer ?? 'no answer'
    })
  }

  /** The effect, and the outcome in one message with the COMMIT, as `job.commit` does it. */
  async commitLast(): Promise<string> {
    const finishing = { ...this.#ending(), resultText: JSON.stringify(this.name) }
    await this.db.transactionEndingWith(
      'read committed',
      (tx) => this.#apply(tx, finishing),
      (mark, schema) => finishLast(finishing, mark, schema),
    )
    return 'finished'
  }

  /** A transaction that does not end: its locks are held until closeCommit. */
  open(work: (tx: Queryable) => Promise<string>): Promise<string> {
    return new Promise((resolve, reject) => {
      let close = () => {}
      const closed = new Promise<void>((go) => {
        close = go
      })
      const committed = this.db.transaction(async (tx) => {
        const note = await work(tx)
        resolve(`${note}, not committed yet`)
        await closed
        return note
      })
      committed.catch(reject)
      this.#open = { close, committed }
    })
  }

  async closeCommit(): Promise<string> {
    this.#open?.close()
    return (await this.#open?.committed) ?? 'nothing open'
  }

  /** A transaction as it is often written: whatever COMMIT answers, if it is no error, is taken for success. */
  async believeCommit(work: (tx: Queryable) => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url })
    await client.connect()
    try {
      await client.query('begin')
      await work(client)
      await client.query('commit')
    } finally {
      await client.end()
    }
  }

  async lose(): Promise<string> {
    const lost = (await loseExpired(this.db)).sort((one, other) => one.leaseId - other.leaseId)
    return lost.map(({ answer, leaseId }) => `lease ${leaseId} ${answer}`).join(', ') || 'nothing to take back'
  }

  /** Asks for the end of the scenario's first job, or of others, in one call. */
  async cancel(...indexes: number[]): Promise<string> {
    const ids = (indexes.length === 0 ? [0] : indexes).map((index) => this.jobIds[index] as string)
    const answers = await cancel(this.db, ids, null)
    return answers.map(({ answer, outcome }) => (answer === 'finished' ? `it has ${outcome}` : answer)).join(', ')
  }

  /** Records the intent to do a step, and takes over one whose effect is ambiguous. */
  async beginStep(name: string): Promise<string> {
    return (await beginStep(this.db, this.#held(), name, null, true)).answer
  }

  async endStep(name: string): Promise<string> {
    return endStep(this.db, this.#held(), name, { resultText: JSON.stringify(this.name) })
  }

  /** An effect outside the database. The key, made from the job and the step, is the same on every attempt. */
  async callOutside(step: string | null): Promise<string> {
    const { jobId } = this.#held()
    const key = step === null ? null : `${jobId}/${step}`
    const charged = await callOutside(this.#url, this.db.schema, { jobId, by: this.name, key })
    return charged ? 'charged' : 'known by its key, not charged'
  }

  async advance(ms: number): Promise<void> {
    await advanceLabClock(
      { query: (text, values) => this.sql(text, values).then((rows) => ({ rows })) },
      this.db.schema,
      ms,
    )
  }

  /** Anything else, written for the schema `fencepost`. */
  sql<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.db.once<Row>(text, values)
  }

  #held(): Fence {
    if (!this.lease) throw new Error(`${this.name} has never had a lease`)
    return this.lease
  }

  async #apply(tx: Queryable, { jobId }: Fence): Promise<void> {
    await tx.query(inSchema('insert into fencepost.lab_effect (job_id, by) values ($1, $2)', this.db.schema), [
      jobId,
      this.name,
    ])
  }

  /** The same, as what has ended here, whatever is answered. */
  #ending(): Fence {
    const fence = this.#held()
    this.running.delete(fence.jobId)
    return fence
  }

  /** What claimMany has taken, whatever became of it. */
  leases: readonly Lease[] = []

  /** Leases up to so many jobs, of these tasks only if any are named, and starts none of them. */
  async claimMany(limit: number, tasks?: readonly string[]): Promise<readonly Lease[]> {
    const known = tasks ? { tasks } : {}
    this.leases = await claim(this.db, { queue: labQueue, limit, worker: this.name, turn: ++this.#turn, ...known })
    this.lease = this.leases.at(-1) ?? this.lease
    return this.leases
  }

  /** Leases the next job, if there is one, and handles it: without more said, it commits it. */
  async claimAnd(handle: (actor: Actor) => Promise<string> = (actor) => actor.commit()): Promise<string> {
    const claimed = await this.claim()
    return claimed === 'nothing to claim' ? claimed : `${claimed}, ${await handle(this)}`
  }

  /** What a worker does with whatever it finds: it advances runs, and handles a job. */
  async takeUp(handle?: (actor: Actor) => Promise<string>): Promise<string> {
    const advanced = (await this.#runs?.advanceAll()) ?? 'nothing to do'
    const claimed = await this.claimAnd(handle)
    const both = [advanced === 'nothing to do' ? '' : `runs ${advanced}`, claimed].filter((note) => note !== '')
    return both.join('; ')
  }

  /** The heartbeat. */
  async extend(): Promise<string> {
    const [answer] = await extend(this.db, [this.#held()])
    return answer?.answer ?? 'no answer'
  }

  /** How a worker says what its handlers came to; `onTrouble` hears what it would emit as an error. */
  turns(onTrouble: (error: unknown) => void): Turns {
    const events = new Events()
    events.on('error', ({ error }) => onTrouble(error))
    return new Turns({
      db: this.db,
      events,
      worker: () => this.name,
      tasks: [],
      ask: () => undefined,
      unmarked: () => [],
      receive: () => {},
      onCalled: () => {},
    })
  }

  /** A handler that may run twice: its effect is applied, by itself, unless it is there. */
  async applyOnce({ jobId } = this.#held()): Promise<void> {
    await this.sql(
      `insert into fencepost.lab_effect (job_id, by)
       select $1, $2 where not exists (select 1 from fencepost.lab_effect e where e.job_id = $1)`,
      [jobId, this.name],
    )
  }

  /** Listens on a connection that nobody looks after; what is answered grows with every notice. */
  async listen(channel: string): Promise<readonly string[]> {
    const client = new pg.Client({ connectionString: this.#url, application_name: `${this.db.schema} listener` })
    const heard: string[] = []
    client.on('error', () => {})
    client.on('notification', ({ payload }) => heard.push(payload ?? ''))
    await client.connect()
    await client.query(`listen ${client.escapeIdentifier(inSchema(channel, this.db.schema))}`)
    return heard
  }

  /** The process is killed from within, as a handler can do it by mistake: no clean-up, and no answer. */
  die(): Promise<never> {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => {})
  }
}

export function labJob(id: string): NewJob {
  return {
    id,
    task: 'charge-card',
    payloadText: '{"cents":500}',
    queue: labQueue,
    priority: 0,
    delayMs: 0,
    failuresMax: 3,
    lossesMax: 3,
    leaseMs: labLeaseMs,
    gatesText: null,
  }
}
