import type { Json } from '../job/json.js'
import type { Fence } from '../job/places.js'
import type { Database, Queryable } from './database.js'

/** Whether a server reads and writes the ledger of sends. */
export type Ledger = 'off' | 'read' | 'on'

export interface SqsQueue<Settings = Json> {
  /** The generation: a queue that is deleted and created again has another one. */
  readonly id: number
  readonly name: string
  readonly createdAt: Date
  readonly modifiedAt: Date
  readonly settings: Settings
  readonly tags: Readonly<Record<string, string>>
}

export async function registerServer(
  db: Database,
  server: string,
  ledger: Ledger,
  deadMs: number,
): Promise<{ server: string; ledger: Ledger }[]> {
  return db.move('select * from fencepost.sqs_register($1, $2, $3)', () => [server, ledger, deadMs])
}

/** By a default of the database's or the role's. */
export async function aboveReadCommitted(db: Database): Promise<boolean> {
  const rows = await db.read<{ above: boolean }>(
    `select current_setting('transaction_isolation') <> 'read committed' as above`,
  )
  return rows[0]?.above ?? false
}

/** False if others took this server for dead. */
export async function seeServer(db: Database, server: string): Promise<boolean> {
  const rows = await db.move<{ known: boolean }>('select fencepost.sqs_see($1) as known', () => [server])
  return (rows[0] as (typeof rows)[0]).known
}

export async function retireServer(db: Database, server: string): Promise<void> {
  await db.move('delete from fencepost.sqs_server where id = $1', () => [server])
}

/** `made` is false if there was such a queue: it is as it was. */
export async function createQueue<Settings>(
  db: Database,
  name: string,
  settings: Settings,
  tags: Readonly<Record<string, string>>,
): Promise<{ made: boolean; id: number; settings: Settings }> {
  const rows = await db.move<{ made: boolean; id: number; settings: Settings }>(
    'select * from fencepost.sqs_create($1, $2, $3)',
    () => [name, JSON.stringify(settings), JSON.stringify(tags)],
  )
  return rows[0] as (typeof rows)[0]
}

/** `changed`: the settings are no longer what they were before. */
export async function setQueue<Settings>(
  db: Database,
  name: string,
  before: Settings,
  after: Settings,
): Promise<'set' | 'changed' | 'no_queue'> {
  const rows = await db.move<{ answer: 'set' | 'changed' | 'no_queue' }>(
    'select fencepost.sqs_set($1, $2, $3) as answer',
    () => [name, JSON.stringify(before), JSON.stringify(after)],
  )
  return (rows[0] as (typeof rows)[0]).answer
}

/** False if the tags are no longer what they were, or the queue is gone. */
export async function setTags(
  db: Database,
  name: string,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Promise<boolean> {
  const rows = await db.move(
    'update fencepost.sqs_queue set tags = $3 where name = $1 and tags in ($2::jsonb, $3::jsonb) returning id',
    () => [name, JSON.stringify(before), JSON.stringify(after)],
  )
  return rows.length > 0
}

export async function purgeQueue(
  db: Database,
  name: string,
  everyMs: number,
): Promise<'purged' | 'no_queue' | 'too_soon'> {
  const rows = await db.move<{ answer: 'purged' | 'no_queue' | 'too_soon' }>(
    'select fencepost.sqs_purge($1, $2) as answer',
    (again) => [name, again ? 0 : everyMs], // the purge just before may be ours
  )
  return (rows[0] as (typeof rows)[0]).answer
}

/** False if there is no such queue; it may have been deleted by a try whose reply was lost. */
export async function deleteQueue(db: Database, name: string): Promise<boolean> {
  let repeated = false
  const rows = await db.move<{ known: boolean }>('select fencepost.sqs_delete_queue($1) as known', (again) => {
    repeated = again
    return [name]
  })
  return repeated || (rows[0] as (typeof rows)[0]).known
}

const queueColumns = 'id, name, created_at as "createdAt", modified_at as "modifiedAt", settings, tags'

export async function readQueue<Settings>(db: Database, name: string): Promise<SqsQueue<Settings> | undefined> {
  const rows = await db.read<SqsQueue<Settings>>(`select ${queueColumns} from fencepost.sqs_queue where name = $1`, [
    name,
  ])
  return rows[0]
}

export async function listQueueNames(
  db: Database,
  prefix: string,
  after: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db.read<{ name: string }>(
    `select name from fencepost.sqs_queue
     where starts_with(name, $1) and name > $2 collate "C"
     order by name collate "C"
     limit $3`,
    [prefix, after, limit],
  )
  return rows.map(({ name }) => name)
}

/** The queues whose dead letters go to this one. */
export async function listSourceNames(
  db: Database,
  targetName: string,
  after: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db.read<{ name: string }>(
    `select name from fencepost.sqs_queue
     where split_part(settings -> 'redrivePolicy' ->> 'deadLetterTargetArn', ':', 6) = $1 and name > $2 collate "C"
     order by name collate "C"
     limit $3`,
    [targetName, after, limit],
  )
  return rows.map(({ name }) => name)
}

export interface MessageCounts {
  readonly visible: number
  readonly notVisible: number
  readonly delayed: number
}

export async function countMessages(db: Database, queue: string): Promise<MessageCounts> {
  const rows = await db.read<MessageCounts>(
    `select (select count(*) from fencepost.ready where queue = $1)
              + (select count(*) from fencepost.waiting where queue = $1) as visible,
            (select count(*) from fencepost.leased where queue = $1) as "notVisible",
            (select count(*) from fencepost.delayed where queue = $1) as delayed`,
    [queue],
  )
  return rows[0] as MessageCounts
}

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
       $8::smallint[], $9::text[], $10::text[], $11::boolean[])`,
    () => [
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
    ],
    tx,
  )
  const refused = rows.find(({ n }) => n === null)
  if (refused) return refused.answer as 'no_queue' | 'not_registered'
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
  const turn = ++turns
  const rows = await db.move<Received & { answer: 'received' | 'no_queue' | 'over_limit' }>(
    `select answer, queue_id as "queueId", job_id as "jobId", lease_id as "leaseId", nonce, tries, seq,
            (extract(epoch from created_at) * 1000)::bigint as "createdMs",
            (extract(epoch from received_at) * 1000)::bigint as "receivedMs", payload, dead_from as "deadFrom"
     from fencepost.sqs_receive($1, $2, $3, $4, $5, $6, $7, $8)`,
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
  const rows = await db.move<{ n: number | null; answer: DeleteAnswer }>(
    `select * from fencepost.sqs_delete($1, $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[], $6::integer[]) order by n`,
    () => [queue, ...receiptColumns(receipts), receipts.map(({ tries }) => tries)],
  )
  return rows.some(({ n }) => n === null) ? 'no_queue' : rows.map(({ answer }) => answer)
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

export interface MoveTask {
  readonly id: string
  readonly source: string
  readonly destination: string | null
  readonly status: 'RUNNING' | 'COMPLETED' | 'CANCELLING' | 'CANCELLED' | 'FAILED'
  readonly perSecond: number | null
  readonly moved: number
  readonly toMove: number
  readonly startedAt: Date
  readonly failure: string | null
}

/** False if one of that queue runs already. */
export async function startMoveTask(
  db: Database,
  task: Pick<MoveTask, 'id' | 'source' | 'destination' | 'perSecond'>,
): Promise<boolean> {
  const rows = await db.move<{ id: string }>(
    `with made as (
       insert into fencepost.sqs_move_task (id, source, destination, started_at, status, per_second, to_move, until_seq)
       select $1, $2, $3, fencepost.clock(), 'RUNNING', $4,
              (select count(*) from fencepost.ready r where r.queue = $2)
                + (select count(*) from fencepost.waiting w where w.queue = $2),
              (select last_value from fencepost.job_seq)
       on conflict do nothing
       returning id
     )
     select id from made
     union all
     select id from fencepost.sqs_move_task where id = $1`,
    () => [task.id, task.source, task.destination, task.perSecond],
  )
  return rows.length > 0
}

/** How many were moved; undefined if there is no such task, or it has ended. */
export async function cancelMoveTask(db: Database, id: string, source: string): Promise<number | undefined> {
  const rows = await db.move<{ moved: number }>(
    `update fencepost.sqs_move_task set status = 'CANCELLING'
     where id = $1 and source = $2 and status in ('RUNNING', 'CANCELLING')
     returning moved`,
    () => [id, source],
  )
  return rows[0]?.moved
}

export async function listMoveTasks(db: Database, source: string, limit: number): Promise<readonly MoveTask[]> {
  return db.read(
    `select id, source, destination, status, per_second as "perSecond", moved, to_move as "toMove",
            started_at as "startedAt", failure
     from fencepost.sqs_move_task where source = $1 order by started_at desc limit $2`,
    [source, limit],
  )
}

/** Goes on with a task that moves messages; false if there is none. */
export async function moveMessages(db: Database): Promise<boolean> {
  const rows = await db.move<{ more: boolean }>('select fencepost.sqs_move_messages() as more', () => [])
  return rows[0]?.more ?? false
}
