import type { Fence, Outcome } from '../job/places.js'
import type { Database } from './database.js'
import { fenceColumns, jsonArrayText, type Lease } from './lease.js'
import type { FailAnswer, Failure, Finish, Finished, ReleaseAnswer, Settled } from './settle.js'

export interface Release extends Fence {
  readonly reason: string
}

/** What a worker says and asks in one round trip. */
export interface Turn {
  readonly worker: string
  /** A number that this worker never used before: a repeat of the call then answers the same leases. */
  readonly turn: number
  readonly finish: readonly Finish[]
  readonly fail: readonly Failure[]
  readonly release: readonly Release[]
  readonly start: readonly Fence[]
  readonly claim: {
    /** Of each queue at most `limit`, for the first `starts` of which there is a free handler. */
    readonly queues: readonly { readonly queue: string; readonly limit: number; readonly starts: number }[]
    readonly room: number
    /** Whether a job whose worker died under it may come, to be run alone. */
    readonly suspect: boolean
  }
  readonly tasks: readonly string[]
}

export interface TurnLease extends Lease {
  /** Marked as started; what was claimed ahead of free handlers is not yet, nor is a suspect. */
  readonly started: boolean
  /** What is left of the lease, from the moment this turn was sent. */
  readonly leftMs: number
}

/** A finish that is not told went as one would expect. */
export interface TurnAnswer {
  readonly finish: readonly Finished[]
  readonly fail: readonly Settled<FailAnswer>[]
  readonly release: readonly Settled<ReleaseAnswer>[]
  readonly start: readonly { jobId: string; leaseId: number; answer: 'started' | 'stale'; cancelRequested: boolean }[]
  readonly leases: readonly TurnLease[]
  /** Some gate has to be looked at again. */
  readonly nudged: boolean
  /** Some run of a workflow has something to do. */
  readonly called: boolean
  /** By this process's clock: the last try, if there were several. */
  readonly sentAtMs: number
}

/** The row of a lease is the lease: there are tens of thousands a second, and each copy is garbage. */
interface TurnRow extends TurnLease {
  kind: 'finish' | 'fail' | 'release' | 'start' | 'lease' | 'nudged' | 'called'
  answer: string
  outcome: Outcome | null
  flag: boolean
}

const statement = `select kind, job_id as "jobId", lease_id as "leaseId", nonce,
    case when kind <> 'lease' then answer end as answer, outcome, flag, task, payload, queue, priority, tries, failures,
    losses, releases, failures_max as "failuresMax", lease_ms as "leaseMs", left_ms as "leftMs",
    date_part('epoch', created_at) * 1000 as "createdAtMs", policy, answer = 'started' as started
  from fencepost.turn($1, $2, $3,
  $4::uuid[], $5::bigint[], $6::bigint[], $7::jsonb[],
  $8::uuid[], $9::bigint[], $10::bigint[], $11::jsonb[], $12::bigint[], $13::boolean[],
  $14::uuid[], $15::bigint[], $16::bigint[], $17::text[],
  $18::uuid[], $19::bigint[], $20::bigint[],
  $21::text[], $22::integer[], $23::integer[], $24, $25, $26::text[])`

/** Settles, starts and claims, in one statement and one commit. `repeated`: what became of an earlier call is unknown. */
export async function takeTurn(db: Database, turn: Turn, repeated = false): Promise<TurnAnswer> {
  const { finish, fail, release, start, claim } = turn
  let sentAtMs = 0
  const values = (again: boolean) => [
    turn.worker,
    turn.turn,
    // guard: turn.again
    // guard: turn.repeated
    again || repeated,
    ...fencesOrNull(finish),
    finish.length === 0 ? null : jsonArrayText(finish.map((item) => item.resultText)),
    ...fencesOrNull(fail),
    orNull(fail, (item) => item.errorText),
    orNull(fail, (item) => item.delayMs),
    orNull(fail, (item) => item.final),
    ...fencesOrNull(release),
    orNull(release, (item) => item.reason),
    ...fencesOrNull(start),
    orNull(claim.queues, (item) => item.queue),
    orNull(claim.queues, (item) => item.limit),
    orNull(claim.queues, (item) => item.starts),
    claim.room,
    claim.suspect,
    turn.tasks,
  ]
  const rows = await db.move<TurnRow>(statement, (again) => {
    sentAtMs = performance.now()
    return values(again)
  })
  // guard: turn.isolation
  if (rows.some((row) => row.kind === 'nudged' && row.answer === 'isolation')) db.sayReadCommitted()
  return {
    finish: ofKind(rows, 'finish', (row) => ({ ...settled<Finished['answer']>(row), duplicate: row.flag })),
    fail: ofKind(rows, 'fail', settled<FailAnswer>),
    release: ofKind(rows, 'release', settled<ReleaseAnswer>),
    start: ofKind(rows, 'start', (row) => ({
      jobId: row.jobId,
      leaseId: row.leaseId,
      answer: row.answer as 'started' | 'stale',
      cancelRequested: row.flag,
    })),
    leases: rows.filter((row) => row.kind === 'lease'),
    nudged: rows.some((row) => row.kind === 'nudged'),
    called: rows.some((row) => row.kind === 'called'),
    sentAtMs,
  }
}

function orNull<Item, Value>(items: readonly Item[], value: (item: Item) => Value): Value[] | null {
  return items.length === 0 ? null : items.map(value)
}

function fencesOrNull(fences: readonly Fence[]) {
  return fences.length === 0 ? [null, null, null] : fenceColumns(fences)
}

function ofKind<Told>(rows: readonly TurnRow[], kind: TurnRow['kind'], told: (row: TurnRow) => Told): Told[] {
  return rows.filter((row) => row.kind === kind).map(told)
}

function settled<Answer extends string>(row: TurnRow): Settled<Answer> {
  return { jobId: row.jobId, leaseId: row.leaseId, answer: row.answer as Answer, outcome: row.outcome }
}
