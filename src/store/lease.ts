import type { Json } from '../job/json.js'
import type { Fence, Outcome } from '../job/places.js'
import type { JobPolicy } from '../workflow/run.js'
import type { Database, Queryable } from './database.js'

/** A leased job, with what its handler needs. */
export interface Lease extends Fence {
  readonly task: string
  readonly queue: string
  readonly priority: number
  readonly payload: Json
  readonly tries: number
  readonly failures: number
  readonly losses: number
  readonly releases: number
  readonly failuresMax: number
  readonly leaseMs: number
  readonly createdAtMs: number
  /** What its workflow says of its retries and its timeout, instead of its task. */
  readonly policy: JobPolicy | null
}

export interface ClaimedLease extends Lease {
  readonly claimedAt: Date
  readonly expiresAt: Date
}

interface LeaseRow {
  job_id: string
  lease_id: number
  nonce: number
  task: string
  payload: Json
  queue: string
  priority: number
  tries: number
  failures: number
  losses: number
  releases: number
  failures_max: number
  claimed_at: Date
  expires_at: Date
  lease_ms: number
  created_at: Date
  policy: JobPolicy | null
}

export interface ClaimRequest {
  readonly queue: string
  readonly limit: number
  readonly worker: string
  /** The tasks this worker knows; all if not given. */
  readonly tasks?: readonly string[]
  /** A number that this worker never used before: a repeat of the call then answers the same leases. */
  readonly turn?: number
}

export async function claim(db: Database, request: ClaimRequest, tx?: Queryable): Promise<ClaimedLease[]> {
  const rows = await db.move<LeaseRow>(
    'select * from fencepost.claim($1, $2, $3, $4::text[], $5, $6)',
    // guard: lease.again
    (again) => [request.queue, request.limit, request.worker, request.tasks ?? null, request.turn ?? null, again],
    tx,
  )
  return rows.map(leaseOf)
}

function leaseOf(row: LeaseRow): ClaimedLease {
  return {
    jobId: row.job_id,
    leaseId: row.lease_id,
    nonce: row.nonce,
    task: row.task,
    queue: row.queue,
    priority: row.priority,
    payload: row.payload,
    tries: row.tries,
    failures: row.failures,
    losses: row.losses,
    releases: row.releases,
    failuresMax: row.failures_max,
    leaseMs: row.lease_ms,
    createdAtMs: row.created_at.getTime(),
    policy: row.policy,
    claimedAt: row.claimed_at,
    expiresAt: row.expires_at,
  }
}

export interface FencedAnswer<Answer extends string> {
  readonly jobId: string
  readonly leaseId: number
  readonly answer: Answer
  readonly cancelRequested: boolean
}

/** Marks leases as started: from now on losing one costs its job a loss. */
export function start(db: Database, fences: readonly Fence[]): Promise<FencedAnswer<'started' | 'stale'>[]> {
  return fenced(db, 'start', fences)
}

/** The heartbeat of all leases of a process. */
export function extend(db: Database, fences: readonly Fence[]): Promise<FencedAnswer<'extended' | 'busy' | 'gone'>[]> {
  return fenced(db, 'extend', fences)
}

async function fenced<Answer extends string>(
  db: Database,
  move: 'start' | 'extend',
  fences: readonly Fence[],
): Promise<FencedAnswer<Answer>[]> {
  if (fences.length === 0) return []
  const rows = await db.move<{ job_id: string; lease_id: number; answer: Answer; cancel_requested: boolean }>(
    `select * from fencepost.${move}($1::uuid[], $2::bigint[], $3::bigint[])`,
    () => fenceColumns(fences),
  )
  return rows.map((row) => ({
    jobId: row.job_id,
    leaseId: row.lease_id,
    answer: row.answer,
    cancelRequested: row.cancel_requested,
  }))
}

/** As texts of arrays: UUIDs and numbers that the database gave us need no quotes, and the driver would quote each. */
export function fenceColumns(fences: readonly Fence[]): [string, string, string] {
  return [
    arrayText(fences.map((f) => f.jobId)),
    numbersText(fences.map((f) => f.leaseId)),
    arrayText(fences.map((f) => f.nonce)),
  ]
}

/**
 * V8 keeps the text of each of the last 16,384 numbers that were made one by join() and the like. Numbers that do not
 * come again gain nothing by that, and their texts outlive all that is young: a fifth of what survives in a busy worker,
 * and most of what grows old there. JSON.stringify() keeps none.
 */
function numbersText(values: readonly number[]): string {
  return `{${JSON.stringify(values).slice(1, -1)}}`
}

/** Texts of JSON, as JSON.stringify() makes them, have nothing to escape but what JSON escapes in the same way. */
export function jsonArrayText(texts: readonly string[]): string {
  return arrayText(texts.map((text) => JSON.stringify(text)))
}

/** Of elements that need no quotes, or have them. */
export function arrayText(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`
}

export interface Lost {
  readonly jobId: string
  readonly leaseId: number
  readonly worker: string
  readonly answer: 'lost' | 'released' | 'failed' | 'cancelled'
  readonly outcome: Outcome | null
}

export interface LostRow {
  job_id: string
  lease_id: number
  worker: string
  answer: Lost['answer']
  outcome: Outcome | null
}

/** Takes back the leases that have run out. */
export async function loseExpired(db: Database, limit = 1_000): Promise<Lost[]> {
  return (await db.move<LostRow>('select * from fencepost.lose($1)', () => [limit])).map(lost)
}

export function lost(row: LostRow): Lost {
  return {
    jobId: row.job_id,
    leaseId: row.lease_id,
    worker: row.worker,
    answer: row.answer,
    outcome: row.outcome,
  }
}
