import type { Json } from '../job/json.js'
import type { Fence } from '../job/places.js'
import type { Database, Queryable } from './database.js'

export interface Send {
  /** Names the entry over all tries of its request. */
  readonly key: Buffer
  readonly id: string
  readonly payload: object
  readonly size: number
  /** Null: what the queue says. */
  readonly delayMs: number | null
  /** Among the messages of a standard queue that were sent with a group; smaller first. */
  readonly rank: number
  readonly group: string | null
  readonly dedupId: string | null
  /** Otherwise it is the hash of the body, and counts only if the queue says so. */
  readonly dedupGiven: boolean
}

type SendAnswer = 'sent' | 'recorded' | 'duplicate' | 'too_large' | 'no_dedup_id'

export interface Sent {
  readonly answer: SendAnswer
  readonly messageId: string
  readonly seq: number | null
  readonly rank: number
}

/** In the order of the entries; or why none was looked at. */
export async function sendMessages(
  db: Database,
  server: string,
  queue: string,
  entries: readonly Send[],
  tx?: Queryable,
): Promise<readonly Sent[] | 'no_queue' | 'not_registered'> {
  const rows = await db.move<{
    n: number | null
    answer: string
    message_id: string
    seq: number | null
    rank: number
  }>(
    `select * from fencepost.sqs_send($1, $2, $3::bytea[], $4::uuid[], $5::jsonb[], $6::integer[], $7::bigint[],
       $8::smallint[], $9::text[], $10::text[], $11::boolean[], $12)`,
    (again) => [
      server,
      queue,
      entries.map(({ key }) => key),
      entries.map(({ id }) => id),
      entries.map(({ payload }) => JSON.stringify(payload)),
      entries.map(({ size }) => size),
      entries.map(({ delayMs }) => delayMs),
      entries.map(({ rank }) => rank),
      entries.map(({ group }) => group),
      entries.map(({ dedupId }) => dedupId),
      entries.map(({ dedupGiven }) => dedupGiven),
      !again, // guard: sqs-messages.fresh
    ],
    tx,
  )
  const [forAll] = rows
  if (forAll?.n === null) {
    if (forAll.answer !== 'sent') return forAll.answer as 'no_queue' | 'not_registered'
    return entries.map(({ id }) => ({ answer: 'sent', messageId: id, seq: null, rank: 0 }))
  }
  return rows.map((row) => ({
    answer: row.answer as SendAnswer,
    messageId: row.message_id,
    seq: row.seq,
    rank: row.rank,
  }))
}

export interface Receive {
  readonly queue: string
  readonly max: number
  /** Null: what the queue says. */
  readonly visibleMs: number | null
  /** This process: what it asks is numbered. */
  readonly receiver: string
  readonly attempt: string | null
  /** Null: not looked at. */
  readonly inFlightMax: number | null
}

export interface Received extends Fence {
  readonly queueId: number
  readonly tries: number
  readonly seq: number
  readonly createdMs: number
  /** For the first time. */
  readonly receivedMs: number
  readonly payload: Json
  readonly deadFrom: string | null
}

let turns = 0

/** After a lost reply it answers what the first try took: these messages are in flight, and nobody else would get them. */
export async function receiveMessages(
  db: Database,
  ask: Receive,
): Promise<readonly Received[] | 'no_queue' | 'over_limit'> {
  const turn = ++turns // guard: sqs-messages.receive_turn
  const rows = await db.move<Received & { answer: 'received' | 'no_queue' | 'over_limit' }>(
    `select answer, queue_id as "queueId", job_id as "jobId", lease_id as "leaseId", nonce, tries, seq,
            (date_part('epoch', created_at) * 1000)::bigint as "createdMs",
            (date_part('epoch', received_at) * 1000)::bigint as "receivedMs", payload, dead_from as "deadFrom"
     from fencepost.sqs_receive($1, $2, $3, $4, $5, $6, $7, $8)`,
    // guard: sqs-messages.receive_again
    (again) => [ask.queue, ask.max, ask.visibleMs, ask.receiver, ask.attempt, ask.inFlightMax, turn, again],
  )
  const refused = rows.find(({ answer }) => answer !== 'received')
  return refused ? (refused.answer as 'no_queue' | 'over_limit') : rows
}

/** When a message of this queue may become visible by itself; null if there is none. */
export async function readNextVisibleMs(db: Database, queue: string): Promise<number | null> {
  const rows = await db.read<{ ms: number | null }>(
    `select ceil(extract(epoch from least(
              (select min(visible_at) from fencepost.leased where queue = $1 and visible_at is not null),
              (select min(due_at) from fencepost.delayed)) - fencepost.clock()) * 1000)::bigint as ms`,
    [queue],
  )
  return rows[0]?.ms ?? null
}

export async function countInFlight(db: Database, queue: string): Promise<number> {
  const rows = await db.read<{ n: number }>(
    'select count(*) as n from fencepost.leased where queue = $1 and visible_at is not null',
    [queue],
  )
  return rows[0]?.n ?? 0
}

/** A lease as a receipt handle names it. */
export interface Receipt extends Fence {
  readonly queueId: number
  readonly tries: number
}

export type DeleteAnswer = 'deleted' | 'expired' | 'stale' | 'invalid'

export async function deleteMessages(
  db: Database,
  queue: string,
  receipts: readonly Receipt[],
): Promise<readonly DeleteAnswer[] | 'no_queue'> {
  const rows = await db.move<{ n: number | null; answer: DeleteAnswer | 'no_queue' }>(
    `select * from fencepost.sqs_delete($1, $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[], $6::integer[]) order by n`,
    () => [queue, ...receiptColumns(receipts), receipts.map(({ tries }) => tries)],
  )
  const [forAll] = rows
  if (forAll?.n === null) return forAll.answer === 'no_queue' ? 'no_queue' : receipts.map(() => 'deleted')
  return rows.map(({ answer }) => answer as DeleteAnswer)
}

export type ChangeAnswer = 'changed' | 'not_in_flight' | 'too_long' | 'invalid'

export async function changeVisibility(
  db: Database,
  queue: string,
  changes: readonly (Receipt & { readonly visibleMs: number })[],
): Promise<readonly ChangeAnswer[] | 'no_queue'> {
  const rows = await db.move<{ n: number | null; answer: ChangeAnswer }>(
    `select * from fencepost.sqs_change_visibility($1, $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[], $6::integer[])
     order by n`,
    () => [queue, ...receiptColumns(changes), changes.map(({ visibleMs }) => visibleMs)],
  )
  return rows.some(({ n }) => n === null) ? 'no_queue' : rows.map(({ answer }) => answer)
}

function receiptColumns(receipts: readonly Receipt[]): unknown[][] {
  return [
    receipts.map(({ queueId }) => queueId),
    receipts.map(({ jobId }) => jobId),
    receipts.map(({ leaseId }) => leaseId),
    receipts.map(({ nonce }) => nonce),
  ]
}

/** Answers how many messages have expired. */
export async function sweepMessages(db: Database, ledgerMs: number): Promise<number> {
  const rows = await db.move<{ expired: number }>('select fencepost.sqs_sweep($1) as expired', () => [ledgerMs])
  return rows[0]?.expired ?? 0
}
