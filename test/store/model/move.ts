import type { Fence } from '../../../src/job/places.js'
import { cancel, promoteDue, retryEnded, wake } from '../../../src/store/control.js'
import type { Database } from '../../../src/store/database.js'
import { codeOf } from '../../../src/store/database-errors.js'
import { enqueue, type NewJob } from '../../../src/store/enqueue.js'
import { type ClaimRequest, claim, extend, loseExpired, start } from '../../../src/store/lease.js'
import { type Failure, type Finish, fail, finish, park, release } from '../../../src/store/settle.js'
import { type TurnLease, takeTurnStoring } from '../../../src/store/turn.js'

/** What a turn that claims from one queue asks: at most `room`, and a free handler for the first `starts`. */
interface TurnRequest extends ClaimRequest {
  readonly tasks: readonly string[]
  readonly turn: number
  readonly starts: number
  readonly room: number
}

/** One call of one move, with everything it says. */
export type Move =
  | { readonly kind: 'enqueue'; readonly jobs: readonly NewJob[]; readonly isolation: Isolation }
  | { readonly kind: 'claim'; readonly request: ClaimRequest; readonly again: boolean }
  | { readonly kind: 'enqueueClaimed'; readonly jobs: readonly NewJob[]; readonly request: TurnRequest }
  | { readonly kind: 'start' | 'extend'; readonly fences: readonly Fence[] }
  | { readonly kind: 'finish'; readonly items: readonly Finish[] }
  | { readonly kind: 'fail'; readonly items: readonly Failure[] }
  | { readonly kind: 'release'; readonly fences: readonly Fence[]; readonly reason: string }
  | { readonly kind: 'park'; readonly fence: Fence; readonly name: string; readonly waitMs: number | null }
  | { readonly kind: 'wake'; readonly jobId: string; readonly name: string; readonly payload: number }
  | { readonly kind: 'lose'; readonly limit: number }
  | { readonly kind: 'promote'; readonly limit: number }
  | { readonly kind: 'cancel'; readonly jobIds: readonly string[]; readonly reason: string | null }
  | { readonly kind: 'retry'; readonly jobIds: readonly string[] }

export type MoveOf<Kind extends Move['kind']> = Extract<Move, { kind: Kind }>

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

/** A row of an answer; an error that a caller has to expect is a row, too. */
export type Row = Readonly<Record<string, unknown>>

/** The database's clock starts here and stands still unless it is advanced; all times are milliseconds since. */
export const epoch = Date.UTC(2030, 0, 1)

const since = (date: Date | null): number | null => date && date.getTime() - epoch

/** Rows in an order of their own: only what claims promises one. */
export function sorted(rows: readonly Row[]): Row[] {
  const key = (row: Row) => ['jobId', 'leaseId', 'answer', 'duplicate'].map((name) => String(row[name])).join(' ')
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Carries the move out on the database. `again` is what `Database.move` says of a repeat: see `Session`. */
export async function perform(db: Database, move: Move): Promise<Row[]> {
  try {
    return await answerOf(db, move)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'FP_ID_CONFLICT') return [{ error: code }]
    const state = codeOf((error as Error).cause)
    if (state === '40001' || state === '40P01') return [{ error: state }]
    throw error
  }
}

async function answerOf(db: Database, move: Move): Promise<Row[]> {
  switch (move.kind) {
    case 'enqueue':
      return sorted([...(await enqueue(db, move.jobs))].map(([jobId, answer]) => ({ jobId, answer })))
    case 'claim':
      return (await claim(db, move.request)).map((lease) => ({
        ...lease,
        claimedAt: since(lease.claimedAt),
        expiresAt: since(lease.expiresAt),
        createdAtMs: lease.createdAtMs - epoch,
      }))
    case 'enqueueClaimed': {
      const { worker, turn, tasks, room, queue, limit, starts } = move.request
      const claiming = { queues: [{ queue, limit, starts }], room, suspect: false }
      return (await takeTurnStoring(db, { worker, turn, tasks, claim: claiming }, move.jobs)).leases.map(rowOf)
    }
    case 'start':
      return sorted((await start(db, move.fences)).map((row) => ({ ...row })))
    case 'extend':
      return sorted((await extend(db, move.fences)).map((row) => ({ ...row })))
    case 'finish':
      return sorted((await finish(db, move.items)).map((row) => ({ ...row })))
    case 'fail':
      return sorted((await fail(db, move.items)).map((row) => ({ ...row })))
    case 'release':
      return sorted((await release(db, move.fences, move.reason)).map((row) => ({ ...row })))
    case 'park': {
      const { answer, payload, dueAt } = await park(db, move.fence, move.name, move.waitMs)
      return [{ answer, payload, dueAt: since(dueAt) }]
    }
    case 'wake':
      return [{ answer: await wake(db, move.jobId, move.name, String(move.payload)) }]
    case 'lose':
      return sorted((await loseExpired(db, move.limit)).map((row) => ({ ...row })))
    case 'promote':
      return sorted((await promoteDue(db, move.limit)).map((row) => ({ ...row })))
    case 'cancel':
      return sorted(
        (await cancel(db, move.jobIds, move.reason)).map(({ jobId, answer, outcome }) => ({ jobId, answer, outcome })),
      )
    default:
      return sorted((await retryEnded(db, move.jobIds)).map((row) => ({ ...row })))
  }
}

/** Written out: what leases have in common they only refer to. */
function rowOf(lease: TurnLease): Row {
  const { jobId, leaseId, nonce, task, queue, priority, payload, tries, failures, losses, releases } = lease
  const { failuresMax, leaseMs, leftMs, createdAtMs, policy, started } = lease
  const counters = { tries, failures, losses, releases, failuresMax }
  const told = { task, queue, priority, payload, leaseMs, leftMs, policy, started }
  return { jobId, leaseId, nonce, ...told, ...counters, createdAtMs: createdAtMs - epoch }
}

/** The fences that the move names. */
export function fencesOf(move: Move): readonly Fence[] {
  switch (move.kind) {
    case 'start':
    case 'extend':
    case 'release':
      return move.fences
    case 'finish':
    case 'fail':
      return move.items
    case 'park':
      return [move.fence]
    default:
      return []
  }
}

/** The jobs that the move names, or that its answer does. */
export function jobsOf(move: Move, answer: readonly Row[]): Set<string> {
  const named = fencesOf(move).map((fence) => fence.jobId)
  if ('jobs' in move) named.push(...move.jobs.map((job) => job.id))
  if (move.kind === 'wake') named.push(move.jobId)
  if (move.kind === 'cancel' || move.kind === 'retry') named.push(...move.jobIds)
  return new Set([...named, ...answer.map((row) => row['jobId']).filter((id) => typeof id === 'string')])
}
