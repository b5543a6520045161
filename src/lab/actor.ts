import pg from 'pg'
import { Events } from '../events.js'
import type { Fence } from '../job/places.js'
import { cancel } from '../store/control.js'
import { Database, type Queryable } from '../store/database.js'
import { enqueue, type NewJob } from '../store/enqueue.js'
import { claim, extend, type Lease, loseExpired, start } from '../store/lease.js'
import { inSchema } from '../store/schema-name.js'
import { fail, finish } from '../store/settle.js'
import { beginStep, endStep } from '../store/step.js'
import { Turns } from '../worker/turns.js'
import { advanceLabClock } from './lab-clock.js'
import { callOutside } from './outside-world.js'

const labQueue = 'lab'
export const labLeaseMs = 30_000

export interface ActorOptions {
  readonly name: string
  readonly url: string
  readonly schema: string
  readonly jobIds: readonly string[]
  /** The guard is out: a step that shows a guard of the client's, not of a function, leaves it out, too. */
  readonly naive: boolean
}

/** What a worker, a producer or a rescuer can do in a scenario, through the same store functions as the product. */
export class Actor {
  readonly name: string
  readonly naive: boolean
  readonly jobIds: readonly string[]
  readonly db: Database
  lease: Fence | undefined
  #turn = 0
  #open: { close: () => void; committed: Promise<string> } | undefined
  readonly #url: string

  constructor(options: ActorOptions) {
    this.name = options.name
    this.naive = options.naive
    this.jobIds = options.jobIds
    this.#url = options.url
    this.db = new Database({
      url: options.url,
      schema: options.schema,
      poolSize: 2,
      retryMs: 10_000,
      applicationName: options.name,
    })
  }

  /** Enqueues all jobs of the scenario in one call. */
  async enqueue(): Promise<string> {
    const answers = await enqueue(this.db, this.jobIds.map(labJob))
    return [...new Set(answers.values())].join(', ')
  }

  /** Leases the next job and marks it started; remembers the lease, whatever becomes of it. */
  async claim(): Promise<string> {
    const [lease] = await claim(this.db, { queue: labQueue, limit: 1, worker: this.name, turn: ++this.#turn })
    if (!lease) return 'nothing to claim'
    this.lease = lease
    await start(this.db, [lease])
    return `lease ${lease.leaseId}`
  }

  /** Says only: finished. */
  async finish(): Promise<string> {
    const [answer] = await finish(this.db, [{ ...this.#held(), resultText: JSON.stringify(this.name) }])
    return answer?.answer ?? 'no answer'
  }

  async fail(final = false): Promise<string> {
    const [answer] = await fail(this.db, [{ ...this.#held(), errorText: '{"message":"no"}', delayMs: 0, final }])
    return answer?.answer ?? 'no answer'
  }

  /** The effect and the outcome in one transaction; the fence is its last statement, and a stale one rolls it back. */
  async commit(): Promise<string> {
    const finishing = { ...this.#held(), resultText: JSON.stringify(this.name) }
    const stale = Symbol('stale')
    try {
      return await this.db.transaction(async (tx) => {
        await tx.query(`insert into "${this.db.schema}".lab_effect (job_id, by) values ($1, $2)`, [
          finishing.jobId,
          this.name,
        ])
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
    const finishing = { ...this.#held(), resultText: JSON.stringify(this.name) }
    return new Promise((resolve, reject) => {
      let close = () => {}
      const closed = new Promise<void>((go) => {
        close = go
      })
      const committed = this.db.transaction(async (tx) => {
        await tx.query(`insert into "${this.db.schema}".lab_effect (job_id, by) values ($1, $2)`, [
          finishing.jobId,
          this.name,
        ])
        const [answer] = await finish(this.db, [finishing], tx)
        resolve(`${answer?.answer}, not committed yet`)
        await closed
        return answer?.answer ?? 'no answer'
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

  /** Asks for the end of one of the scenario's jobs. */
  async cancel(index = 0): Promise<string> {
    const [cancelled] = await cancel(this.db, [this.jobIds[index] as string], null)
    return cancelled?.answer === 'finished' ? `it has ${cancelled.outcome}` : (cancelled?.answer ?? 'no answer')
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
