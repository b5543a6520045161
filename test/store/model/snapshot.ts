import { inspect, isDeepStrictEqual } from 'node:util'
import type { Job } from './job.js'
import type { Model } from './model.js'
import { epoch, type Row } from './move.js'
import type { Session } from './session.js'

/** A job with every row that speaks of it: one in `places`, always. */
interface JobRows {
  readonly job: Row
  readonly places: readonly Row[]
  readonly attempts: readonly Row[]
  readonly mailbox: readonly Row[]
}

export type Rows = ReadonlyMap<string, JobRows>

const counters = 'tries, releases, failures, losses'
const travels = `job_id, seq, ${counters}, priority, failures_max, losses_max, queue, task`

/** The columns that the model speaks of. */
const columns = {
  job: 'id, seq, created_at, due_at, lease_ms, priority, failures_max, losses_max, queue, task, payload',
  ready: travels,
  leased: `${travels}, lease_id, nonce, claimed_at, expires_at, started_at, cancel_requested_at, cancel_reason, turn,
    lease_ms, worker`,
  delayed: `${travels}, due_at`,
  parked: `${travels}, due_at, wait_name`,
  finished: `job_id, lease_id, nonce, finished_at, started_at, outcome, ${counters}, worker, reason, result, error`,
  attempt: `job_id, lease_id, nonce, ended_at, claimed_at, started_at, late_at, retried_at, outcome, ending, late_ending,
    worker, reason, error, late`,
  signal: 'job_id, name, due_at, sent_at, payload',
}

const placeTables = ['ready', 'leased', 'delayed', 'parked', 'finished'] as const

const readAll = `select json_build_object(${Object.entries(columns)
  .map(
    ([table, list]) =>
      `'${table}', (select coalesce(json_agg(t), '[]') from (select ${list} from fencepost.${table}) t)`,
  )
  .join(', ')}) as tables`

/** From the base tables, in one snapshot: a job in two places is seen in both. */
export async function readRows(session: Session): Promise<Rows> {
  type Tables = Record<keyof typeof columns, Record<string, unknown>[]>
  const [answer] = await session.query<{ tables: Tables }>(readAll)
  const { tables } = answer as { tables: Tables }
  const ids = new Set(
    Object.values(tables).flatMap((rows) => rows.map((row) => (row['job_id'] ?? row['id']) as string)),
  )
  return new Map(
    [...ids].toSorted().map((id) => {
      const of = (table: keyof typeof columns) =>
        tables[table].filter((row) => (row['job_id'] ?? row['id']) === id).map((row) => readable(row))
      const places = placeTables.flatMap((table) => of(table).map((row) => ({ in: table, ...row })))
      return [
        id,
        {
          job: of('job')[0] ?? {},
          places,
          attempts: inOrder(of('attempt').map(withoutMadeUpLease)),
          mailbox: inOrder(of('signal').filter(saysSomething)),
        },
      ]
    }),
  )
}

/** Keys as in TypeScript, times as milliseconds since the epoch of the test. */
function readable(row: Record<string, unknown>): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replace(/_./g, (match) => (match[1] as string).toUpperCase()),
      name.endsWith('_at') && typeof value === 'string' ? Date.parse(value) - epoch : value,
    ]),
  )
}

/** An ending without a lease is logged under a lease_id of no meaning, with the nonce 0. */
function withoutMadeUpLease(row: Row): Row {
  return row['nonce'] === 0 ? { ...row, leaseId: null, nonce: null } : row
}

/** A mailbox without a signal and without a time is as good as none. */
function saysSomething(mail: Row): boolean {
  return mail['sentAt'] !== null || mail['dueAt'] !== null
}

function inOrder(rows: readonly Row[]): Row[] {
  const names = ['leaseId', 'nonce', 'endedAt', 'retriedAt', 'reason', 'name']
  const key = (row: Row) => names.map((name) => String(row[name])).join(' ')
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** The rows that there should be. */
export function expectedRows(model: Model): Rows {
  return new Map(
    [...model.jobs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, job]) => [id, expectedRowsOf(id, job)]),
  )
}

function expectedRowsOf(id: string, job: Job): JobRows {
  const { seq, asked, attempts, mailbox } = job
  const { createdAt, dueAt, leaseMs, priority, failuresMax, lossesMax, queue, task, payload } = asked
  return {
    job: { id, seq, createdAt, dueAt, leaseMs, priority, failuresMax, lossesMax, queue, task, payload },
    places: [expectedPlace(id, job)],
    attempts: inOrder(
      attempts.map(({ fence, ending, endedAt, lease, reason, error, late, undone }) => ({
        jobId: id,
        leaseId: fence?.leaseId ?? null,
        nonce: fence?.nonce ?? null,
        endedAt,
        claimedAt: lease?.claimedAt ?? null,
        startedAt: lease?.startedAt ?? null,
        lateAt: late?.at ?? null,
        retriedAt: undone?.at ?? null,
        outcome: undone?.outcome ?? null,
        ending,
        lateEnding: late?.ending ?? null,
        worker: lease?.worker ?? null,
        reason,
        error,
        late: late?.said ?? null,
      })),
    ),
    mailbox: inOrder(
      [...mailbox]
        .map(([name, { dueAt: until, sent }]) => {
          return { jobId: id, name, dueAt: until, sentAt: sent?.at ?? null, payload: sent?.payload ?? null }
        })
        .filter(saysSomething),
    ),
  }
}

function expectedPlace(jobId: string, job: Job): Row {
  const { at, seq, asked, tries, releases, failures, losses, failuresMax, lossesMax } = job
  const { priority, queue, task, leaseMs } = asked
  const travelling = { jobId, seq, tries, releases, failures, losses, priority, failuresMax, lossesMax, queue, task }
  switch (at.in) {
    case 'ready':
      return { in: at.in, ...travelling }
    case 'delayed':
      return { in: at.in, ...travelling, dueAt: at.dueAt }
    case 'parked':
      return { in: at.in, ...travelling, dueAt: at.dueAt, waitName: at.name }
    case 'leased': {
      const { fence, claimedAt, expiresAt, startedAt, cancelAt, cancelReason, turn, worker } = at
      return {
        in: at.in,
        ...travelling,
        ...fence,
        claimedAt,
        expiresAt,
        startedAt,
        cancelRequestedAt: cancelAt,
        cancelReason,
        turn,
        leaseMs,
        worker,
      }
    }
    default: {
      const { lease, endedAt, outcome, reason, result, error } = at
      const { leaseId, nonce } = lease?.fence ?? { leaseId: null, nonce: null }
      const by = { leaseId, nonce, startedAt: lease?.startedAt ?? null, worker: lease?.worker ?? null }
      return {
        in: at.in,
        jobId,
        ...by,
        finishedAt: endedAt,
        outcome,
        tries,
        releases,
        failures,
        losses,
        reason,
        result,
        error,
      }
    }
  }
}

/** What is not as it should be, in words; nothing if all is. */
export function differences(seen: Rows, expected: Rows, nameOf: (id: string) => string): string[] {
  return [...new Set([...seen.keys(), ...expected.keys()])].flatMap((id) => {
    const [is, should] = [seen.get(id), expected.get(id)]
    if (!is || !should) return [`${nameOf(id)} ${is ? 'should not exist' : 'is missing'}`]
    return (['job', 'places', 'attempts', 'mailbox'] as const).flatMap((part) =>
      isDeepStrictEqual(is[part], should[part])
        ? []
        : [`${nameOf(id)}, ${part}: it is\n    ${brief(is[part])}\n  and should be\n    ${brief(should[part])}`],
    )
  })
}

export function brief(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY })
}
