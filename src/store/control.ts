import type { Outcome, Place } from '../job/places.js'
import type { Database, Queryable } from './database.js'

export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'missing'
/** `item`: it is part of a run, which is to be rerun instead. */
export type RetryAnswer = 'retried' | 'item' | 'succeeded' | 'unfinished' | 'missing'
export type WakeAnswer = 'woken' | 'kept' | 'existing' | 'finished' | 'missing'

export interface Controlled<Answer extends string> {
  readonly jobId: string
  readonly answer: Answer
  readonly outcome: Outcome | null
}

interface ControlledRow<Answer> {
  job_id: string
  answer: Answer
  outcome: Outcome | null
}

export interface Cancelled extends Controlled<CancelAnswer> {
  /** Empty if there is no such job, or it was stored only while this statement ran. */
  readonly task: string
  readonly queue: string
}

/** Ends jobs that do not run, and flags those that do. */
export async function cancel(
  db: Database,
  jobIds: readonly string[],
  reason: string | null,
  tx?: Queryable,
): Promise<Cancelled[]> {
  const rows = await db.move<ControlledRow<CancelAnswer> & { task: string | null; queue: string | null }>(
    `select c.*, (select j.task from fencepost.job j where j.id = c.job_id) as task,
            (select j.queue from fencepost.job j where j.id = c.job_id) as queue
     from fencepost.cancel($1::uuid[], $2, $3) c`,
    () => [jobIds, reason, tx === undefined], // guard: control.cancel_own_tx
    tx,
  )
  return rows.map((row) => ({ ...controlled(row), task: row.task ?? '', queue: row.queue ?? '' }))
}

/** Undoes endings other than success, with fresh budgets. */
export async function retryEnded(
  db: Database,
  jobIds: readonly string[],
  tx?: Queryable,
): Promise<Controlled<RetryAnswer>[]> {
  const rows = await db.move<ControlledRow<RetryAnswer>>(
    'select * from fencepost.retry($1::uuid[], $2)',
    () => [jobIds, tx === undefined], // guard: control.retry_own_tx
    tx,
  )
  return rows.map(controlled)
}

/** Sends a signal to a job; one that comes before the job waits for it is kept. */
export async function wake(
  db: Database,
  jobId: string,
  name: string,
  payloadText: string,
  tx?: Queryable,
): Promise<WakeAnswer> {
  const rows = await db.move<{ answer: WakeAnswer }>(
    'select * from fencepost.wake($1, $2, $3::jsonb, $4)',
    () => [jobId, name, payloadText, tx === undefined], // guard: control.wake_own_tx
    tx,
  )
  return (rows[0] as (typeof rows)[0]).answer
}

/** Moves jobs whose time has come to where they can be claimed. */
export async function promoteDue(db: Database, limit = 1_000): Promise<{ jobId: string; place: Place }[]> {
  const rows = await db.move<{ job_id: string; place: Place }>('select * from fencepost.promote($1)', () => [limit])
  return rows.map((row) => ({ jobId: row.job_id, place: row.place }))
}

/** Gives the slots of those who hold them for too long to the next. */
export async function markOverrun(
  db: Database,
  limit = 1_000,
): Promise<{ jobId: string; leaseId: number; key: string }[]> {
  const rows = await db.move<{ job_id: string; lease_id: number; key: string }>(
    'select * from fencepost.overrun($1)',
    () => [limit],
  )
  return rows.map((row) => ({ jobId: row.job_id, leaseId: row.lease_id, key: row.key }))
}

/** Takes the gated jobs of what is paused aside, so that they do not hold what others share. */
export async function yieldPaused(db: Database, limit = 1_000): Promise<string[]> {
  const rows = await db.move<{ job_id: string }>('select * from fencepost.yield_paused($1)', () => [limit])
  return rows.map((row) => row.job_id)
}

function controlled<Answer extends string>(row: ControlledRow<Answer>): Controlled<Answer> {
  return { jobId: row.job_id, answer: row.answer, outcome: row.outcome }
}
