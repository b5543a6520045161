import type { Model } from './model.js'
import { jobsOf, type Move, type Row } from './move.js'
import type { Session } from './session.js'
import { brief, type Rows } from './snapshot.js'
import { type Heard, otherAnswer, otherRows, seqIn, type World } from './world.js'

/** A move of a round: when it was sent, when it had ended, and what it was told. */
export interface Call {
  readonly session: Session
  readonly move: Move
  answer: readonly Row[]
  issuedAt: number
  doneAt: number
  /** Rolled back, by us or by the server: it may have been in the way, but it changed nothing. */
  undone: boolean
  /** The call whose transaction was open while this one waited for a lock. */
  waitedFor: Call | undefined
}

/** The model after a serial order in which the moves could have happened; an error if there is none. */
export function explained(world: World, calls: readonly Call[], rows: Rows): Model {
  for (const call of calls) {
    if (call.waitedFor && !mayWait(call, call.waitedFor)) {
      throw new Error(`${call.move.kind} waited for a lock that it should have passed over:\n  ${told(world, calls)}`)
    }
    const error = call.answer[0]?.['error']
    if (error === '40P01' || (error === '40001' && !mayFailToSerialize(call, calls))) {
      throw new Error(`${error} was not to be expected here:\n  ${told(world, calls)}`)
    }
  }
  const pieces = calls
    .filter(({ undone }) => !undone)
    .flatMap((call) =>
      inPieces(call).map((piece) => ({
        ...piece,
        name: `${calls.indexOf(call) + 1}`,
        seen: { answer: piece.answer, seqOf: seqIn(rows), passedOver: passedOver(call, calls, world.model) },
        compared: compared(call, calls),
      })),
    )
  const problems: string[] = []
  const model = search(world.model, pieces, rows, '', problems)
  if (model) return model
  throw new Error(`no serial order explains this:\n  ${told(world, calls)}\n${problems.slice(0, 12).join('\n')}`)
}

type Piece = Call & Heard & { readonly name: string }

/** Tries every order in which nothing comes before what had ended when it began. */
function search(
  before: Model,
  pieces: readonly Piece[],
  rows: Rows,
  order: string,
  problems: string[],
): Model | undefined {
  if (pieces.length === 0) {
    const problem = otherRows(before, rows)
    if (!problem) return before
    problems.push(`in the order${order}: ${problem}`)
  }
  for (const next of pieces) {
    if (!pieces.every((other) => other.doneAt > next.issuedAt)) continue
    const model = before.clone()
    const soFar = `${order} ${next.name}`
    const problem = otherAnswer(model, next)
    if (problem) problems.push(`in the order${soFar}: ${problem}`)
    const found = problem
      ? undefined
      : search(
          model,
          pieces.filter((piece) => piece !== next),
          rows,
          soFar,
          problems,
        )
    if (found) return found
  }
  return undefined
}

/**
 * The allowance for cancel and retry: several jobs in one call are as many calls. They hold no lock on a job that they
 * leave alone, so what they say of it may be older than what they do to the next one. Every other batch is one move.
 */
function inPieces(call: Call): Call[] {
  const { move } = call
  if (move.kind !== 'cancel' && move.kind !== 'retry') return [call]
  return [...new Set(move.jobIds)].map((id) => ({
    ...call,
    move: { ...move, jobIds: [id] },
    answer: call.answer.filter((row) => row['jobId'] === id),
  }))
}

function told(world: World, calls: readonly Call[]): string {
  return calls
    .map(({ move, answer, issuedAt, doneAt, undone }, i) => {
      const when = `from ${issuedAt} to ${doneAt}${undone ? ', rolled back' : ''}`
      return `${i + 1}. ${world.describe(move)}\n     ${when} → ${brief(answer)}`
    })
    .join('\n  ')
}

/** What skips locked rows waits for nothing; only the repeat of a turn waits for the first try. */
function mayWait({ move }: Call, { move: holder }: Call): boolean {
  if (!lockers[move.kind]) return true
  if (!('request' in move && 'request' in holder)) return false
  return move.request.worker === holder.request.worker && move.request.turn === holder.request.turn
}

/** Only an enqueue above READ COMMITTED, against another one for the same id, or if both are serializable. */
function mayFailToSerialize({ move }: Call, calls: readonly Call[]): boolean {
  if (move.kind !== 'enqueue' || move.isolation === 'read committed') return false
  const ids = new Set(move.jobs.map((job) => job.id))
  return calls.some(({ move: other }) => {
    if (other === move || other.kind !== 'enqueue') return false
    const bothSerializable = move.isolation === 'serializable' && other.isolation === 'serializable'
    return bothSerializable || other.jobs.some((job) => ids.has(job.id))
  })
}

const leaseLockers: readonly Move['kind'][] = ['lose', 'start', 'extend', 'finish', 'fail', 'release', 'park', 'cancel']

/** The moves that skip locked rows, and the moves that lock those rows. */
const lockers: Partial<Record<Move['kind'], readonly Move['kind'][]>> = {
  claim: ['claim', 'enqueueClaimed', 'cancel'],
  enqueueClaimed: ['claim', 'enqueueClaimed', 'cancel'],
  lose: leaseLockers,
  extend: leaseLockers,
  promote: ['promote', 'wake', 'cancel'],
}

/**
 * The allowance for moves that skip locked rows. One may pass over a job that no serial order would let it pass over, if
 * another move of the round locks rows of its kind and names that job, in its arguments or in its answer. A claim may also miss a job that was not yet ready when the round began: its snapshot may be older than the move that
 * made it ready, and newer than another one. And a lease that another move changed after `lose` took its snapshot
 * counts towards its limit, though it is left alone. What such a move does take is held to the model in full, and so is
 * what it leaves: a job passed over must be where the serial order puts it.
 */
function passedOver(call: Call, calls: readonly Call[], before: Model): Set<string> {
  const kinds = lockers[call.move.kind]
  if (!kinds) return new Set()
  const inTheWay = calls
    .filter((other) => other !== call && kinds.includes(other.move.kind))
    .flatMap((other) => [...jobsOf(other.move, other.answer)])
  if (call.move.kind === 'extend') {
    const busy = call.answer.filter((row) => row['answer'] === 'busy').map((row) => row['jobId'])
    return new Set(inTheWay.filter((id) => busy.includes(id)))
  }
  const taken = jobsOf(call.move, call.answer)
  if ('request' in call.move) {
    for (const other of calls) {
      inTheWay.push(...[...jobsOf(other.move, other.answer)].filter((id) => before.jobs.get(id)?.at.in !== 'ready'))
    }
  }
  return new Set(inTheWay.filter((id) => !taken.has(id)))
}

const settles: readonly Move['kind'][] = ['finish', 'fail', 'release', 'park']

/**
 * The allowance for two remarks that a settle makes and that decide nothing. `duplicate`: when two attempts of a job
 * report success at the same moment, neither may notice the other. The `outcome` that is told of a lease that is not
 * held: it is read before this settle commits, and so may two settles be of which each ends the job that the other speaks
 * of. Neither is compared for a job of which another settle of the round speaks; the rows are.
 */
function compared(call: Call, calls: readonly Call[]): (row: Row) => Row {
  const others = calls.filter((other) => other !== call && settles.includes(other.move.kind))
  const ids = (rivals: readonly Call[]) =>
    new Set<unknown>(rivals.flatMap(({ move, answer }) => [...jobsOf(move, answer)]))
  const settled = ids(others)
  const finished = ids(others.filter(({ move }) => move.kind === 'finish'))
  const tellsEarly = settles.includes(call.move.kind)
  const isRefusal = (row: Row) => row['answer'] === 'stale' || row['answer'] === 'already'
  return (row) => ({
    ...row,
    ...(call.move.kind === 'finish' && finished.has(row['jobId']) && { duplicate: 'either' }),
    ...(tellsEarly && isRefusal(row) && settled.has(row['jobId']) && { outcome: 'either' }),
  })
}
