import pg from 'pg'
import type { Json } from '../job/json.js'
import type { Fence, Outcome } from '../job/places.js'
import type { Database, Queryable } from './database.js'
import { fenceColumns } from './lease.js'
import { inSchema } from './schema-name.js'

export interface Settled<Answer extends string> {
  readonly jobId: string
  readonly leaseId: number
  readonly answer: Answer
  /** How the job has ended, if it has. */
  readonly outcome: Outcome | null
}

export interface Finished extends Settled<'finished' | 'already' | 'stale'> {
  /** Another attempt of this job has reported success, too. */
  readonly duplicate: boolean
}

interface SettledRow<Answer> {
  job_id: string
  lease_id: number
  answer: Answer
  outcome: Outcome | null
  duplicate: boolean
}

export interface Finish extends Fence {
  /** JSON text. */
  readonly resultText: string
}

/** Ends leases whose fence holds, as succeeded. In a transaction of the caller's, effects and outcome commit together. */
export async function finish(db: Database, items: readonly Finish[], tx?: Queryable): Promise<Finished[]> {
  const rows = await db.move<SettledRow<Finished['answer']>>(
    'select * from fencepost.finish($1::uuid[], $2::bigint[], $3::bigint[], $4::jsonb[], $5)',
    // guard: settle.finish_own_tx
    () => [...fenceColumns(items), items.map((item) => item.resultText), tx === undefined],
    tx,
  )
  return rows.map((row) => ({ ...settled(row), duplicate: row.duplicate }))
}

/** finish() as the last statement of a transaction, sent together with its COMMIT: values are part of the text. */
export function finishLast(item: Finish, mark: string, schema: string): string {
  const { jobId, leaseId, nonce, resultText } = item
  // guard: settle.literal
  const values = [jobId, String(leaseId), String(nonce), resultText, mark].map((value) => pg.escapeLiteral(value))
  // Not of the whole text: a result may speak of `fencepost.`, too.
  return `${inSchema('select fencepost.finish_last', schema)}(${values.join(', ')})` // guard: settle.schema
}

/** Makes a lease last until its deadline, so that nothing changes its row before. False if it is gone. */
export async function hold(db: Database, fence: Fence, ms: number): Promise<boolean> {
  const rows = await db.move<{ held: boolean }>('select fencepost.hold($1, $2, $3, $4) as held', () => [
    fence.jobId,
    fence.leaseId,
    fence.nonce,
    Math.ceil(ms),
  ])
  return (rows[0] as (typeof rows)[0]).held
}

export interface Failure extends Fence {
  readonly errorText: string
  readonly delayMs: number
  /** Not to be tried again, whatever is left of the budget. */
  readonly final: boolean
}

export type FailAnswer = 'retrying' | 'failed' | 'cancelled' | 'already' | 'stale'

export async function fail(db: Database, items: readonly Failure[], tx?: Queryable): Promise<Settled<FailAnswer>[]> {
  const rows = await db.move<SettledRow<FailAnswer>>(
    `select * from fencepost.fail($1::uuid[], $2::bigint[], $3::bigint[], $4::jsonb[], $5::bigint[], $6::boolean[],
       $7)`,
    () => [
      ...fenceColumns(items),
      items.map((item) => item.errorText),
      items.map((item) => item.delayMs),
      items.map((item) => item.final),
      tx === undefined, // guard: settle.fail_own_tx
    ],
    tx,
  )
  return rows.map(settled)
}

export type ReleaseAnswer = 'released' | 'cancelled' | 'already' | 'stale'

/** Gives jobs back at no charge. */
export async function release(
  db: Database,
  fences: readonly Fence[],
  reason: string,
): Promise<Settled<ReleaseAnswer>[]> {
  const rows = await db.move<SettledRow<ReleaseAnswer>>(
    'select * from fencepost.release($1::uuid[], $2::bigint[], $3::bigint[], $4, true)',
    () => [...fenceColumns(fences), reason],
  )
  return rows.map(settled)
}

export interface Parked {
  /** `signalled` and `elapsed`: there is nothing to wait for, the lease goes on. */
  readonly answer: 'parked' | 'signalled' | 'elapsed' | 'cancelled' | 'already' | 'stale'
  readonly payload: Json
  readonly dueAt: Date | null
}

export async function park(db: Database, fence: Fence, name: string, waitMs: number | null): Promise<Parked> {
  const rows = await db.move<{ answer: Parked['answer']; payload: Json; due_at: Date | null }>(
    'select * from fencepost.park($1, $2, $3, $4, $5)',
    () => [fence.jobId, fence.leaseId, fence.nonce, name, waitMs],
  )
  const row = rows[0] as (typeof rows)[0]
  return { answer: row.answer, payload: row.payload, dueAt: row.due_at }
}

function settled<Answer extends string>(row: SettledRow<Answer>): Settled<Answer> {
  return { jobId: row.job_id, leaseId: row.lease_id, answer: row.answer, outcome: row.outcome }
}

/** What became of a lease that was settled in a transaction whose end is not known here; waits for that end. */
export async function leaseFate(db: Database, fence: Fence): Promise<'held' | 'finished' | 'gone'> {
  const rows = await db.move<{ fate: 'held' | 'finished' | 'gone' }>(
    'select fencepost.lease_fate($1, $2, $3) as fate',
    () => [fence.jobId, fence.leaseId, fence.nonce],
  )
  return (rows[0] as (typeof rows)[0]).fate
}
