import { type AuditReport, audit } from '../audit/audit.js'
import type { Database } from '../store/database.js'
import { type JobDetail, readJob } from '../store/read.js'
import { type OutsideCall, outsideCalls } from './outside-world.js'

/** The note of a step whose actor was killed when its commit had reached the server. */
export const committedThenKilled = 'committed, then killed before the reply'

/** What a scenario's check may look at when all is over. */
export class Inspection {
  readonly jobIds: readonly string[]
  readonly notes: ReadonlyMap<string, string>
  readonly #db: Database

  /** `notes` are what the steps answered, by `actor: does`. */
  constructor(db: Database, jobIds: readonly string[], notes: ReadonlyMap<string, string>) {
    this.#db = db
    this.jobIds = jobIds
    this.notes = notes
  }

  sql<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#db.once<Row>(text, values)
  }

  async job(index = 0): Promise<JobDetail | undefined> {
    return readJob(this.#db, this.jobIds[index] as string)
  }

  audit(): Promise<AuditReport> {
    return audit(this.#db)
  }

  /** Effects in the database, per job: each must be there once. */
  async effects(): Promise<{ jobId: string; by: string[] }[]> {
    return this.sql(
      `select job_id as "jobId", array_agg(by order by at) as by from fencepost.lab_effect group by job_id`,
    )
  }

  /** What somebody else's system has received, in that order. */
  outsideCalls(): Promise<OutsideCall[]> {
    return outsideCalls({ query: async (text) => ({ rows: await this.sql(text) }) }, this.#db.schema)
  }

  /** Jobs that were stored and have not ended, or have succeeded without the effect that belongs to success. */
  async unfinished(): Promise<string[]> {
    const rows = await this.sql<{ id: string; place: string; outcome: string | null }>(
      `select id, place, outcome from fencepost.jobs v
       where place is distinct from 'finished'
          or (outcome = 'succeeded' and not exists (select 1 from fencepost.lab_effect e where e.job_id = v.id))`,
    )
    return rows.map(({ place, outcome }) =>
      outcome ? `${outcome} without its effect` : `left in ${place ?? 'no place'}`,
    )
  }

  /** A success that this step committed must stay the outcome; whoever else holds it now has undone it. */
  async successUndone(by: string, does: string): Promise<string[]> {
    const note = this.notes.get(`${by}: ${does}`)
    const job = await this.job()
    if ((note !== 'finished' && note !== committedThenKilled) || (job?.outcome === 'succeeded' && job.worker === by))
      return []
    return [`INV_003: the success of ${by} did not stay; the outcome is now that of ${job?.worker ?? 'nobody'}`]
  }

  /** What every scenario looks for: repeated or missing effects, work left behind, and whatever the audit calls a violation. */
  async usualSuspects(): Promise<string[]> {
    const effects = await this.effects()
    const { findings } = await this.audit()
    return [
      ...effects
        .filter(({ by }) => by.length > 1)
        .map(({ by }) => `INV_001: ${by.length} effects for one job, by ${by.join(' and ')}`),
      ...(await this.unfinished()).map((problem) => `INV_004: a job is ${problem}`),
      ...findings
        .filter(({ severity }) => severity === 'violation')
        .map(({ invariant, problem }) => `${invariant}: ${problem}`),
    ]
  }
}
