import { FencepostError } from '../errors.js'
import { uuidArray } from './binary-arrays.js'
import { copiedLeast, enqueueCopied } from './copied-jobs.js'
import type { Database, Queryable } from './database.js'
import { codeOf, wasRefusedBefore } from './database-errors.js'
import { arrayText, jsonArrayText } from './lease.js'
import type { NewJob } from './new-job.js'

export type { NewJob } from './new-job.js'

export type EnqueueAnswer = 'enqueued' | 'existing' | 'pending' | 'discarded'

/** What jobs of one call mostly have in common. */
const shared = ['task', 'queue', 'priority', 'delayMs', 'failuresMax', 'lossesMax', 'leaseMs', 'gatesText'] as const
const types = ['text', 'text', 'smallint', 'bigint', 'smallint', 'smallint', 'integer', 'jsonb']

/** Told once if all have it in common, and otherwise as an array. What is not answered is enqueued: nearly all. */
function enqueueSql(move: 'enqueue_many' | 'enqueue_many_fresh', alike: boolean): string {
  const columns = types.map((type, n) =>
    alike ? `array_fill($${n + 4}::${type}, array[cardinality($1::uuid[])])` : `$${n + 4}::${type}[]`,
  )
  const [task, ...others] = columns
  return `select * from fencepost.${move}($1::uuid[], ${task}, $2::jsonb[], ${others.join(', ')}, $3)
    where answer <> 'enqueued'`
}

const anyIds = { alike: enqueueSql('enqueue_many', true), mixed: enqueueSql('enqueue_many', false) }
const freshIds = { alike: enqueueSql('enqueue_many_fresh', true), mixed: enqueueSql('enqueue_many_fresh', false) }

const oneId = 'select $1::uuid as job_id, fencepost.enqueue_one($1, $2, $3, $4, $5, $6, $7, $8) as answer'
const freshAlike = 'select * from fencepost.enqueue_alike($1, $2, $3, $4, $5, $6, $7, $8)'

/** What `enqueue_alike` is given: these jobs differ in their ids and payloads only, and have neither delay nor gates. */
export function alikeValues(jobs: readonly NewJob[], own: boolean): unknown[] {
  const { task, queue, priority, failuresMax, lossesMax, leaseMs } = jobs[0] as NewJob
  const payloads = `[${payloadsOf(jobs).join()}]`
  // A connection of the caller's may be one that sends no Buffer as it is.
  const ids = own ? uuidArray(idsOf(jobs)) : arrayText(idsOf(jobs))
  return [ids, payloads, task, queue, priority, failuresMax, lossesMax, leaseMs]
}

interface Statement {
  readonly sql: string
  readonly values: () => unknown[]
}

/** All or none; in the order given. A repeat under the same ids answers `existing` and touches nothing. */
export async function enqueue(
  db: Database,
  jobs: readonly NewJob[],
  tx?: Queryable,
  fresh = false,
): Promise<Map<string, EnqueueAnswer>> {
  const exceptions = await enqueueExceptions(db, jobs, tx, fresh)
  return new Map(jobs.map(({ id }) => [id, exceptions.get(id) ?? 'enqueued']))
}

/**
 * The same; tells only what is not `enqueued`: nearly nothing, and a map of all would be made for every call. `fresh`: the ids
 * were made for this very call, so that only a repeat of it has to look whether they are there.
 */
export async function enqueueExceptions(
  db: Database,
  jobs: readonly NewJob[],
  tx: Queryable | undefined,
  fresh: boolean,
): Promise<Map<string, EnqueueAnswer>> {
  const own = tx === undefined // guard: enqueue.own_tx
  const first = statementOf(jobs, fresh, own)
  const repeat = () => statementOf(jobs, false, own) // guard: enqueue.fresh_again
  const rows = await db.move<{ job_id: string; answer: EnqueueAnswer }>(
    (again) => (again ? repeat() : first).sql,
    (again) => (again ? repeat() : first).values(),
    tx,
    // guard: enqueue.copied_plain
    jobs.length >= copiedLeast && first.sql === freshAlike ? () => enqueueCopied(db, jobs) : undefined,
  )
  return new Map(rows.map(({ job_id, answer }) => [job_id, answer]))
}

/**
 * The jobs were to be stored with a worker's turn, and that `failed`, whatever the reason: they are enqueued as a repeat, which
 * waits for a first try in flight. They are plain and their ids are fresh: what is there was enqueued by this very call.
 */
export async function enqueueAfter(db: Database, jobs: readonly NewJob[], failed: unknown): Promise<void> {
  const { constraint } = ((failed as FencepostError).cause ?? {}) as { constraint?: unknown }
  if (constraint === 'job_pkey') throw failed // guard: enqueue.carried_taken (somebody else's: no fresh id is there)
  const fresh = false // guard: enqueue.carried_again
  await enqueue(db, jobs, undefined, fresh).catch((error: unknown) => {
    // guard: enqueue.carried_unknown
    throw codeOf(failed) === 'FP_COMMIT_UNKNOWN' && !wasRefusedBefore(error)
      ? new FencepostError('FP_COMMIT_UNKNOWN', undefined, { cause: error })
      : error
  })
}

/** The narrowest move that can do it: the more it can do, the longer it takes. */
function statementOf(jobs: readonly NewJob[], fresh: boolean, own: boolean): Statement {
  const [first] = jobs
  const alike = first !== undefined && areAlike(jobs)
  // guard: enqueue.plain_only
  if (alike && first.delayMs === 0 && first.gatesText === null) {
    if (fresh) return { sql: freshAlike, values: () => alikeValues(jobs, own) }
    const { id, payloadText, task, queue, priority, failuresMax, lossesMax, leaseMs } = first
    const common = [task, queue, priority, failuresMax, lossesMax, leaseMs]
    if (jobs.length === 1) return { sql: oneId, values: () => [id, payloadText, ...common] }
  }
  return {
    sql: (fresh ? freshIds : anyIds)[alike ? 'alike' : 'mixed'],
    values: () => [
      arrayText(idsOf(jobs)),
      jsonArrayText(payloadsOf(jobs)),
      own,
      ...shared.map((name) => (alike ? first[name] : jobs.map((job) => job[name]))),
    ],
  }
}

function idsOf(jobs: readonly NewJob[]): string[] {
  return jobs.map(({ id }) => id)
}

function payloadsOf(jobs: readonly NewJob[]): string[] {
  return jobs.map(({ payloadText }) => payloadText)
}

/** In all that is `shared`. */
export function areAlike(jobs: readonly NewJob[]): boolean {
  return jobs.every((job) => isLike(job, jobs[0] as NewJob))
}

/** Written out, because it is asked of every job. */
function isLike(a: NewJob, b: NewJob): boolean {
  return (
    a.task === b.task &&
    a.queue === b.queue &&
    a.priority === b.priority &&
    a.delayMs === b.delayMs &&
    a.failuresMax === b.failuresMax &&
    a.lossesMax === b.lossesMax &&
    a.leaseMs === b.leaseMs &&
    a.gatesText === b.gatesText
  )
}

/** Makes names known to `fencepost queues` and to the check for misspelt ones. */
export async function announceTasks(db: Database, tasks: readonly { name: string; queue: string }[]): Promise<void> {
  await db.move(
    `insert into fencepost.task (name, queue, first_seen_at)
     select name, queue, fencepost.clock() from unnest($1::text[], $2::text[]) as t(name, queue)
     order by name, queue -- guard: enqueue.announce_order
     on conflict do nothing`,
    () => [tasks.map((task) => task.name), tasks.map((task) => task.queue)],
  )
}
