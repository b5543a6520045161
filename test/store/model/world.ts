import { isDeepStrictEqual } from 'node:util'
import type { Fence } from '../../../src/job/places.js'
import type { ClaimRequest } from '../../../src/store/lease.js'
import { Model, type Seen } from './model.js'
import { fencesOf, type Move, type Row } from './move.js'
import type { Session } from './session.js'
import { brief, differences, expectedRows, type Rows, readRows } from './snapshot.js'

/** Jobs have small numbers for names; their ids are in the order of the numbers. */
export function jobId(n: number): string {
  return `${n.toString(16).padStart(8, '0')}-0000-7000-8000-000000000000`
}

/** Of a job that comes with a turn: no other turn has that number, so that the id was never heard of. */
export function freshJobId(turn: number, n: number): string {
  return jobId(1_000 * turn + n)
}

function nameOf(id: string): string {
  return `j${Number.parseInt(id.slice(0, 8), 16)}`
}

/** The server, through several connections, and one more that looks on. */
export interface Server {
  readonly sessions: readonly Session[]
  readonly onlooker: Session
  readonly barrier: Session
  advance(ms: number): Promise<unknown>
}

/** The model of one sequence of moves, and what its workers remember. */
export class World {
  model = new Model()
  /** Every fence that was ever answered, those of transactions that were rolled back included. */
  readonly fences: Fence[] = []
  readonly turns: ClaimRequest[] = []
  /** The jobs that the moves of a round are made of while it is being made; `fresh` are ids for new ones. */
  focus: { readonly known: readonly string[]; readonly fresh: readonly string[] } | undefined

  isHeld({ jobId: id, leaseId, nonce }: Fence): boolean {
    const at = this.model.jobs.get(id)?.at
    return at?.in === 'leased' && at.fence.leaseId === leaseId && at.fence.nonce === nonce
  }

  /** `j3#2`: the second lease that was given out for job 3. */
  nameOfFence(fence: Fence): string {
    const ofJob = this.fences.filter((known) => known.jobId === fence.jobId)
    const index = ofJob.findIndex((known) => known.leaseId === fence.leaseId)
    if (index < 0) return `${nameOf(fence.jobId)}#none`
    const forged = ofJob[index]?.nonce === fence.nonce ? '' : '!nonce'
    return `${nameOf(fence.jobId)}#${index + 1}${forged}`
  }

  /** A readable line, for the list of commands of a failure. */
  describe(move: Move): string {
    const text = Object.entries(move)
      .filter(([key]) => !['kind', 'fences', 'items', 'fence', 'jobIds', 'jobId'].includes(key))
      .map(([key, value]) => `${key}: ${brief(value)}`)
    const items = move.kind === 'finish' || move.kind === 'fail' ? move.items : []
    const rest = items.map(({ jobId: _job, leaseId: _lease, nonce: _nonce, ...said }: Fence) => brief(said))
    const named = fencesOf(move).map((fence, i) => `${this.nameOfFence(fence)} ${rest[i] ?? ''}`.trim())
    if (move.kind === 'wake') named.push(nameOf(move.jobId))
    if (move.kind === 'cancel' || move.kind === 'retry') named.push(...move.jobIds.map(nameOf))
    return `${move.kind} ${[...named, ...text].join(', ')}`.replace(
      /'?([0-9a-f]{8})-0000-7000-8000-0{12}'?/g,
      (_, n: string) => nameOf(n),
    )
  }

  /** Remembers what an answer gave away. */
  note(move: Move, answer: readonly Row[]): void {
    if (!('request' in move)) return
    const isRepeat = move.kind === 'claim' && move.again
    if (move.request.turn !== undefined && !isRepeat) this.turns.push(move.request)
    const leases = (answer as unknown as Fence[]).map(({ jobId: id, leaseId, nonce }) => ({
      jobId: id,
      leaseId,
      nonce,
    }))
    const given = leases.filter(({ leaseId }) => !this.fences.some((known) => known.leaseId === leaseId))
    for (const { nonce } of given) {
      if (this.fences.some((known) => known.nonce === nonce)) throw new Error(`the nonce ${nonce} was given out before`)
    }
    this.fences.push(...given)
  }

  /** From now on only larger numbers are new. */
  closeStep(): void {
    for (const job of this.model.jobs.values()) this.model.seqMax = Math.max(this.model.seqMax, job.seq)
    for (const { leaseId } of this.fences) this.model.leaseIdMax = Math.max(this.model.leaseIdMax, leaseId)
  }

  /** One move alone: the answer and every row must be the model's. */
  async step(server: Server, session: Session, move: Move): Promise<Row[]> {
    const answer = await session.perform(move)
    const rows = await readRows(server.onlooker)
    const seen = { answer, seqOf: seqIn(rows), passedOver: new Set<string>() }
    const problem = otherAnswer(this.model, { move, seen }) ?? otherRows(this.model, rows)
    if (problem) throw new Error(`${this.describe(move)}: ${problem}`)
    this.note(move, answer)
    this.closeStep()
    return answer
  }
}

export function seqIn(rows: Rows): (id: string) => number {
  return (id) => (rows.get(id)?.job['seq'] as number | undefined) ?? Number.NaN
}

export interface Heard {
  readonly move: Move
  readonly seen: Seen
  /** What of an answer is compared; all of it if not given. */
  readonly compared?: (row: Row) => Row
}

/** Applies the move to the model, and says whether the database answered otherwise. */
export function otherAnswer(model: Model, { move, seen, compared }: Heard): string | undefined {
  const all = (row: Row): Row => row
  const [answer, expected] = [seen.answer.map(compared ?? all), model.apply(move, seen).map(compared ?? all)]
  if (isDeepStrictEqual(answer, expected)) return undefined
  return `${move.kind} answered\n    ${brief(answer)}\n  and should have answered\n    ${brief(expected)}`
}

/** Says whether the database holds other rows than the model's. */
export function otherRows(model: Model, rows: Rows): string | undefined {
  const found = differences(rows, expectedRows(model), nameOf)
  return found.length > 0 ? found.join('\n  ') : undefined
}
