import type { Json } from '../job/json.js'
import type { StoredGate } from '../task/gate.js'
import { type Ending, type Outcome, type Place, places } from '../job/places.js'
import type { Database } from './database.js'

/** A job as people see it. */
export interface JobView {
  readonly id: string
  readonly task: string
  readonly queue: string
  readonly place: Place
  readonly outcome: Outcome | null
  readonly priority: number
  readonly tries: number
  readonly failures: number
  readonly losses: number
  readonly releases: number
  readonly createdAt: Date
  readonly dueAt: Date | null
  readonly finishedAt: Date | null
  readonly worker: string | null
  readonly expiresAt: Date | null
  readonly waitName: string | null
  /** The gate at which it waits. */
  readonly waitsAt: string | null
  readonly waitsSince: Date | null
  readonly cancelRequestedAt: Date | null
  readonly reason: string | null
}

export interface AttemptView {
  readonly leaseId: number
  readonly ending: Ending
  readonly worker: string | null
  readonly claimedAt: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date
  readonly reason: string | null
  readonly error: Json
  /** What the worker said after its lease had ended. */
  readonly lateEnding: string | null
  readonly lateAt: Date | null
  readonly late: Json
  /** The outcome that a retry undid. */
  readonly outcome: Outcome | null
  readonly retriedAt: Date | null
}

/** A job with its payload, its result or error, and its history. */
export interface JobDetail extends JobView {
  readonly payload: Json
  readonly result: Json
  readonly error: Json
  /** In the order in which they are waited for; null if it has none. */
  readonly gates: readonly StoredGate[] | null
  /** The delay it was enqueued with ended then; null without one. */
  readonly notBefore: Date | null
  /** Of the lease that it has now. */
  readonly claimedAt: Date | null
  /** Of the lease that it has now or that ended it: a first-try success is in no attempt. */
  readonly startedAt: Date | null
  readonly attempts: readonly AttemptView[]
  /** If it is an item of a task run of a workflow. */
  readonly itemOf: {
    readonly runId: string
    readonly task: string
    readonly ordinal: number
    readonly item: number
  } | null
}

const viewColumns = `id, task, queue, place, outcome, priority, tries, failures, losses, releases,
  created_at as "createdAt", due_at as "dueAt", finished_at as "finishedAt", worker, expires_at as "expiresAt",
  wait_name as "waitName", waits_at as "waitsAt", waits_since as "waitsSince", cancel_requested_at as "cancelRequestedAt", reason`

/** One statement, one snapshot: a job that moves meanwhile is still seen in exactly one place. */
export async function readJob(db: Database, id: string): Promise<JobDetail | undefined> {
  const rows = await db.read<JobDetail>(
    `select v.*, j.payload, j.gates, f.result, f.error, j.due_at as "notBefore", l.claimed_at as "claimedAt",
            coalesce(f.started_at, l.started_at) as "startedAt", a.attempts,
            case when j.run_id is not null then json_build_object(
              'runId', j.run_id, 'task', j.run_task, 'ordinal', j.ordinal, 'item', j.item) end as "itemOf"
     from (select ${viewColumns} from fencepost.jobs where id = $1) v
     join fencepost.job j on j.id = v.id
     left join fencepost.finished f on f.job_id = v.id
     left join fencepost.leased l on l.job_id = v.id
     cross join lateral (
       select coalesce(json_agg(json_build_object(
         'leaseId', t.lease_id, 'ending', t.ending, 'worker', t.worker, 'claimedAt', t.claimed_at,
         'startedAt', t.started_at, 'endedAt', t.ended_at, 'reason', t.reason, 'error', t.error,
         'lateEnding', t.late_ending, 'lateAt', t.late_at, 'late', t.late, 'outcome', t.outcome,
         'retriedAt', t.retried_at) order by t.ended_at, t.lease_id), '[]') as attempts
       from fencepost.attempt t where t.job_id = v.id
     ) a`,
    [id],
  )
  const row = rows[0]
  return row && { ...row, attempts: row.attempts.map(withDates) }
}

/** Dates inside json come as text. */
function withDates(attempt: AttemptView): AttemptView {
  const date = (value: unknown) => (value === null ? null : new Date(value as string))
  return {
    ...attempt,
    claimedAt: date(attempt.claimedAt),
    startedAt: date(attempt.startedAt),
    endedAt: new Date(attempt.endedAt),
    lateAt: date(attempt.lateAt),
    retriedAt: date(attempt.retriedAt),
  }
}

export interface JobFilter {
  readonly place?: Place
  readonly outcome?: Outcome
  readonly task?: string
  readonly queue?: string
  readonly limit: number
}

/** The newest first. With a place, only that place's table is walked, not the history. */
export function listJobs(db: Database, filter: JobFilter): Promise<JobView[]> {
  // From our own list, never from the caller's string: it becomes part of the statement.
  const table = places.find((place) => place === filter.place)
  const inPlace = table ? `and id in (select job_id from fencepost.${table})` : ''
  return db.read<JobView>(
    `select ${viewColumns} from fencepost.jobs
     where ($1::text is null or place = $1) ${inPlace} and ($2::text is null or outcome::text = $2)
       and ($3::text is null or task = $3) and ($4::text is null or queue = $4)
     order by id desc
     limit $5`,
    [filter.place ?? null, filter.outcome ?? null, filter.task ?? null, filter.queue ?? null, filter.limit],
  )
}

export interface QueueView {
  readonly queue: string
  readonly ready: number
  readonly waiting: number
  readonly leased: number
  readonly delayed: number
  readonly parked: number
  /** By the database's clock. */
  readonly oldestReadyMs: number | null
  readonly pausedAt: Date | null
}

/** Counts what is alive; the finished are history and not counted. */
export function listQueues(db: Database): Promise<QueueView[]> {
  return db.read<QueueView>(
    `select queue, sum(ready)::int8 as ready, sum(waiting)::int8 as waiting, sum(leased)::int8 as leased,
            sum(delayed)::int8 as delayed, sum(parked)::int8 as parked,
            (select extract(epoch from fencepost.clock() - j.created_at)::float8 * 1000
             from fencepost.ready r join fencepost.job j on j.id = r.job_id
             where r.queue = q.queue and r.seq = min(q.first)) as "oldestReadyMs",
            (select g.paused_at from fencepost.gate g where g.key = 'pause:queue:' || q.queue) as "pausedAt"
     from (
       select queue, 0 as ready, 0 as waiting, 0 as leased, 0 as delayed, 0 as parked, null::bigint as first
       from fencepost.task
       union all select substr(key, length('pause:queue:') + 1), 0, 0, 0, 0, 0, null
       from fencepost.gate where paused_at is not null and key like 'pause:queue:%'
       union all select queue, count(*), 0, 0, 0, 0, min(seq) from fencepost.ready group by queue
       union all select queue, 0, count(*), 0, 0, 0, null from fencepost.waiting group by queue
       union all select queue, 0, 0, count(*), 0, 0, null from fencepost.leased group by queue
       union all select queue, 0, 0, 0, count(*), 0, null from fencepost.delayed group by queue
       union all select queue, 0, 0, 0, 0, count(*), null from fencepost.parked group by queue
     ) q
     group by queue
     order by queue`,
  )
}

/** A worker, and what it runs. One that is not registered has left leases behind: it has gone, or was taken for dead. */
export interface WorkerView {
  readonly id: string
  readonly registered: boolean
  readonly host: string | null
  readonly pid: number | null
  readonly version: string | null
  /** Each with its concurrency. */
  readonly queues: Readonly<Record<string, number | null>> | null
  readonly tasks: readonly string[] | null
  readonly startedAt: Date | null
  readonly seenAt: Date | null
  readonly stoppingAt: Date | null
  /** Ages by the database's clock. */
  readonly sinceMs: number | null
  readonly seenMs: number | null
  readonly running: number
  /** The oldest leases first; there may be more than are listed. */
  readonly jobs: readonly WorkerJobView[]
}

export interface WorkerJobView {
  readonly jobId: string
  readonly task: string
  readonly queue: string
  readonly attempt: number
  readonly claimedMs: number
  /** Null: claimed, not started. */
  readonly startedMs: number | null
  /** Until the lease runs out; negative if it has. */
  readonly expiresInMs: number
}

const jobsPerWorkerMax = 100

/** The workers that are there and the leases they hold, in one snapshot. */
export function listWorkers(db: Database): Promise<WorkerView[]> {
  const ageMs = (since: string) => `extract(epoch from fencepost.clock() - ${since})::float8 * 1000`
  return db.read<WorkerView>(
    `select coalesce(w.id, l.worker) as id, w.id is not null as registered, w.host, w.pid, w.version, w.queues, w.tasks,
            w.started_at as "startedAt", w.seen_at as "seenAt", w.stopping_at as "stoppingAt",
            ${ageMs('w.started_at')} as "sinceMs", ${ageMs('w.seen_at')} as "seenMs",
            coalesce(l.running, 0) as running, coalesce(l.jobs, '[]') as jobs
     from fencepost.worker w
     full join (
       select worker, count(*) as running,
              json_agg(json_build_object(
                'jobId', job_id, 'task', task, 'queue', queue, 'attempt', tries, 'claimedMs', ${ageMs('claimed_at')},
                'startedMs', ${ageMs('started_at')}, 'expiresInMs', -(${ageMs('expires_at')})
              ) order by lease_id) filter (where place <= $1) as jobs
       from (select *, row_number() over (partition by worker order by lease_id) as place from fencepost.leased) each
       group by worker
     ) l on l.worker = w.id
     order by w.started_at nulls last, id`,
    [jobsPerWorkerMax],
  )
}

/** The names that some process has announced. */
export function listTasks(db: Database): Promise<{ name: string; queue: string }[]> {
  return db.read('select name, queue from fencepost.task order by name, queue')
}

export interface OutcomeRow {
  readonly jobId: string
  /** It is no job, but a run of a workflow. */
  readonly isRun: boolean
  readonly outcome: Outcome
  readonly reason: string | null
  readonly result: Json
  readonly error: Json
}

/** Which of these jobs, and runs of workflows, have ended, and which do not exist: one statement for any number of waiters. */
export async function readOutcomes(
  db: Database,
  ids: readonly string[],
): Promise<{ ended: OutcomeRow[]; missing: string[] }> {
  const rows = await db.read<OutcomeRow & { known: boolean }>(
    `select a.id as "jobId", j.id is not null or r.id is not null as known, coalesce(f.outcome::text, r.state) as outcome,
            r.id is not null as "isRun", f.reason, coalesce(f.result, r.output) as result, coalesce(f.error, r.error) as error
     from unnest($1::uuid[]) as a(id)
     left join fencepost.job j on j.id = a.id
     left join fencepost.finished f on f.job_id = a.id
     left join fencepost.run r on j.id is null and r.id = a.id
     where f.job_id is not null or r.ended_at is not null or j.id is null and r.id is null`,
    [ids],
  )
  return { ended: rows.filter((row) => row.known), missing: rows.filter((row) => !row.known).map((row) => row.jobId) }
}
