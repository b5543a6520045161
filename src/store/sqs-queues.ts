import type { Json } from '../job/json.js'
import type { Database } from './database.js'

export interface SqsQueue<Settings = Json> {
  /** The generation: a queue that is deleted and created again has another one. */
  readonly id: number
  readonly name: string
  readonly createdAt: Date
  readonly modifiedAt: Date
  readonly settings: Settings
  readonly tags: Readonly<Record<string, string>>
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
    // guard: sqs-queues.tags_unchanged
    // guard: sqs-queues.tags_repeated
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
    // guard: sqs-queues.purge_again
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
  return repeated || (rows[0] as (typeof rows)[0]).known // guard: sqs-queues.delete_again
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
