import { type AuditReport, audit } from '../audit/audit.js'
import type { Database } from '../store/database.js'
import { type JobDetail, readJob } from '../store/read.js'
import { type OutsideCall, outsideCalls } from './outside-world.js'

/** The note of a step whose actor was killed when its commit had reached the server. */
export const committedThenKilled = 'committed, then killed before the reply'

/** What a scenario's check may look at when all is over. */
export class Inspection {
  readonly jobIds: readonly string[]
  readonly runIds: readonly string[]
  readonly notes: ReadonlyMap<string, string>
  readonly #db: Database
  readonly #moments: readonly ReadonlySet<string>[]

  /** `notes` are what the steps answered, by `actor: does`; `moments`: which jobs the actors had at work, step by step. */
  constructor(
    db: Database,
    jobIds: readonly string[],
    runIds: readonly string[],
    notes: ReadonlyMap<string, string>,
    moments: readonly ReadonlySet<string>[],
  ) {
    this.#db = db
    this.jobIds = jobIds
    this.runIds = runIds
    this.notes = notes
    this.#moments = moments
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

  /** More handlers (of some of the jobs) than the limit were at work at the same time, as they themselves tell it. */
  beyond(limit: number, indexes = this.jobIds.map((_, index) => index)): string[] {
    const atOnce = this.#moments.map((running) => indexes.filter((index) => running.has(this.jobIds[index] as string)))
    const most = Math.max(0, ...atOnce.map((jobs) => jobs.length))
    return most > limit ? [`INV_007: ${most} jobs ran at the same time, the limit is ${limit}`] : []
  }

  /** Jobs that wait at a gate that nobody holds, and that nobody will look at. */
  async stranded(): Promise<string[]> {
    const rows = await this.sql(
      `select 1 from fencepost.waiting w
       where not exists (select 1 from fencepost.nudge n where n.key = w.gate)
         and not exists (select 1 from fencepost.ready r where w.gate = any (r.gates[1:r.held]))
         and not exists (select 1 from fencepost.leased l where w.gate = any (l.gates[1:l.held]))`,
    )
    return rows.map(() => 'INV_007: a job waits at a gate that nobody holds')
  }

  /** Tasks of runs that were begun another number of times than they should have been. */
  async notOnce(tasks: readonly string[], times = 1): Promise<string[]> {
    const rows = await this.sql<{ task: string; jobs: number }>(
      `select a.task, count(j.id) as jobs
       from unnest($1::text[]) as a(task)
       cross join unnest($2::uuid[]) as r(id)
       join fencepost.run q on q.id = r.id and q.parent_id is null
       left join fencepost.job j on j.run_id = r.id and j.run_task = a.task
       group by a.task having count(j.id) <> $3 order by a.task`,
      [tasks, this.runIds, times],
    )
    return rows.map(({ task, jobs }) => `INV_009: task ${task} was dispatched ${jobs} times`)
  }

  /** Runs that were started and have not ended, though there is nothing left to do. */
  async stuckRuns(): Promise<string[]> {
    const rows = await this.sql<{ state: string }>('select state from fencepost.run where ended_at is null order by id')
    return rows.map(({ state }) => `INV_004: a run is left ${state}`)
  }

  /** A success that this step committed must stay the outcome; whoever else holds it now has undone it. */
  async successUndone(by: string, does: string): Promise<string[]> {
    const note = this.notes.get(`${by}: ${does}`)
    const job = await this.job()
    if ((note !== 'finished' && note !== committedThenKilled) || (job?.outcome === 'succeeded' && job.worker === by))
      return []
    return [`INV_003: the success of ${by} did not stay; the outcome is now that of ${job?.worker ?? 'nobody'}`]
  }

  /** With the numbers of the scenario's runs instead of their ids, which differ from play to play. */
  #named(problem: string): string {
    return this.runIds.reduce((text, id, index) => text.replaceAll(id, String(index + 1)), problem)
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
      ...(await this.stuckRuns()),
      ...findings
        .filter(({ severity }) => severity === 'violation')
        .map(({ invariant, problem }) => `${invariant}: ${this.#named(problem)}`),
    ]
  }
}
