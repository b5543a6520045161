import type { Fence, Outcome } from '../job/places.js'
import { bigintArray, uuidArray } from './binary-arrays.js'
import type { Database } from './database.js'
import { alikeValues, type NewJob } from './enqueue.js'
import { jsonArrayText } from './lease.js'
import type { FailAnswer, Failure, Finish, Finished, ReleaseAnswer, Settled } from './settle.js'
import { type ToldLease, ToldLeases, type TurnLease } from './turn-lease.js'

export type { TurnLease } from './turn-lease.js'

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

/** A finish or a start that is not told went as one would expect. */
export interface TurnAnswer {
  readonly finish: readonly Finished[]
  readonly fail: readonly Settled<FailAnswer>[]
  readonly release: readonly Settled<ReleaseAnswer>[]
  readonly start: readonly { jobId: string; leaseId: number; answer: 'started' | 'stale'; cancelRequested: boolean }[]
  readonly leases: readonly TurnLease[]
  /** Some gate has to be looked at again. */
  readonly nudged: boolean
  /** In so many milliseconds what is ready has to be looked at again: this turn found nothing, and did not look everywhere. */
  readonly unseenMs: number | undefined
  /** Some run of a workflow has something to do. */
  readonly called: boolean
  /** By this process's clock: the last try, if there were several. */
  readonly sentAtMs: number
}

type ToldSettled = [
  kind: 'finish' | 'fail' | 'release',
  jobId: string,
  leaseId: number,
  answer: string,
  outcome: Outcome | null,
  duplicate: boolean,
]

type Told =
  | ToldLease
  | ToldSettled
  | ['start', jobId: string, leaseId: number, answer: 'started' | 'stale', cancelRequested: boolean]
  | ['nudged', ...unknown[]]
  | ['called']
  | ['unseen', ms: number]

interface ToldRow {
  readonly told: string
}

const statement = `select * from fencepost.turn($1, $2, $3, $4::text[],
  $5::uuid[], $6::bigint[], $7::bigint[], $8::jsonb[],
  $9::uuid[], $10::bigint[], $11::bigint[], $12::jsonb[], $13::bigint[], $14::boolean[],
  $15::uuid[], $16::bigint[], $17::bigint[], $18::text[],
  $19::uuid[], $20::bigint[], $21::bigint[],
  $22::text[], $23::integer[], $24::integer[], $25, $26, $27) as told`

/** Who settles as many in a turn will be told of many: then they come many in a text, which is worth it from about thirty on. */
const manyLeast = 30

const storing = `select * from fencepost.enqueue_claimed($1, $2, $3::text[], $4, $5, $6,
  $7, $8, $9, $10, $11, $12, $13, $14) as told`

/**
 * Stores jobs of one queue, under fresh ids, as `enqueue_alike` does, and takes a turn that claims from that queue and says
 * nothing: in one statement and one commit. It is tried once. After an error the jobs are to be enqueued by themselves, and the
 * turn repeated if what became of it is unknown.
 */
export async function takeTurnStoring(
  db: Database,
  turn: Pick<Turn, 'worker' | 'turn' | 'claim' | 'tasks'>,
  jobs: readonly NewJob[],
): Promise<TurnAnswer> {
  const { worker, turn: number, tasks, claim } = turn
  const { limit, starts } = claim.queues[0] as Turn['claim']['queues'][number]
  const sentAtMs = performance.now()
  const values = [worker, number, tasks, limit, starts, claim.room, ...alikeValues(jobs, true)]
  return turnAnswer(turn, await db.moveOnce<ToldRow>(storing, values), sentAtMs)
}

/** Settles, starts and claims, in one statement and one commit. `repeated`: what became of an earlier call is unknown. */
export async function takeTurn(db: Database, turn: Turn, repeated = false): Promise<TurnAnswer> {
  let sentAtMs = 0
  const rows = await db.move<ToldRow>(statement, (again) => {
    sentAtMs = performance.now()
    // guard: turn.again
    // guard: turn.repeated
    return turnValues(turn, again || repeated)
  })
  return turnAnswer(turn, rows, sentAtMs)
}

function turnValues(turn: Turn, again: boolean): unknown[] {
  const { finish, fail, release, start, claim } = turn
  return [
    turn.worker,
    turn.turn,
    again,
    turn.tasks,
    ...fencesOrNull(finish),
    resultsOrNull(finish),
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
    finish.length >= manyLeast,
  ]
}

function turnAnswer(turn: Pick<Turn, 'tasks' | 'claim'>, rows: readonly ToldRow[], sentAtMs: number): TurnAnswer {
  const answer = {
    finish: [],
    fail: [],
    release: [],
    start: [],
    leases: [],
    nudged: false,
    unseenMs: undefined,
    called: false,
    sentAtMs,
  } as Answer
  const leases = new ToldLeases(turn.tasks, turn.claim.queues)
  for (const { told } of rows) {
    for (const each of JSON.parse(`[${told}]`) as Told[]) take(answer, each, leases)
  }
  // As they are to run: one with a large payload comes in a text of its own.
  answer.leases.sort((a, b) => a.leaseId - b.leaseId) // guard: turn.in_order
  return answer
}

function take(answer: Answer, told: Told, leases: ToldLeases): void {
  switch (told[0]) {
    case 'lease':
      answer.leases.push(leases.read(told))
      break
    case 'finish':
      answer.finish.push({ ...settled<Finished['answer']>(told), duplicate: told[5] })
      break
    case 'fail':
      answer.fail.push(settled<FailAnswer>(told))
      break
    case 'release':
      answer.release.push(settled<ReleaseAnswer>(told))
      break
    case 'start':
      answer.start.push({ jobId: told[1], leaseId: told[2], answer: told[3], cancelRequested: told[4] })
      break
    case 'nudged':
      answer.nudged = true
      break
    case 'unseen':
      answer.unseenMs = Math.min(told[1], answer.unseenMs ?? told[1])
      break
    case 'called':
      answer.called = true
  }
}

type Mutable<Whole> = {
  -readonly [Part in keyof Whole]: Whole[Part] extends readonly (infer Item)[] ? Item[] : Whole[Part]
}
type Answer = Mutable<TurnAnswer>

/** Null if all of them are: most handlers return nothing. */
function resultsOrNull(finish: readonly Finish[]): string | null {
  if (finish.every(({ resultText }) => resultText === 'null')) return null
  return jsonArrayText(finish.map(({ resultText }) => resultText))
}

function orNull<Item, Value>(items: readonly Item[], value: (item: Item) => Value): Value[] | null {
  return items.length === 0 ? null : items.map(value)
}

function fencesOrNull(fences: readonly Fence[]) {
  if (fences.length === 0) return [null, null, null]
  return [
    uuidArray(fences.map((fence) => fence.jobId)),
    bigintArray(fences.map((fence) => fence.leaseId)),
    bigintArray(fences.map((fence) => fence.nonce)),
  ]
}

function settled<Kind extends string>([, jobId, leaseId, answer, outcome]: ToldSettled): Settled<Kind> {
  return { jobId, leaseId, answer: answer as Kind, outcome }
}
