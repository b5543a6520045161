import type { Database, Queryable } from './database.js'

/** A job ready to be stored: checked, with every option resolved. */
export interface NewJob {
  readonly id: string
  readonly task: string
  readonly payloadText: string
  readonly queue: string
  readonly priority: number
  readonly delayMs: number
  readonly failuresMax: number
  readonly lossesMax: number
  readonly leaseMs: number
  /** JSON text of its gates, in the order in which they are waited for; null if it has none. */
  readonly gatesText: string | null
}

export type EnqueueAnswer = 'enqueued' | 'existing' | 'pending' | 'discarded'

/** All or none; in the order given. A repeat under the same ids answers `existing` and touches nothing. */
export async function enqueue(
  db: Database,
  jobs: readonly NewJob[],
  tx?: Queryable,
): Promise<Map<string, EnqueueAnswer>> {
  const rows = await db.move<{ job_id: string; answer: EnqueueAnswer }>(
    `select * from fencepost.enqueue_many($1::uuid[], $2::text[], $3::jsonb[], $4::text[], $5::smallint[], $6::bigint[],
       $7::smallint[], $8::smallint[], $9::integer[], $10::jsonb[], $11)`,
    () => [
      jobs.map((job) => job.id),
      jobs.map((job) => job.task),
      jobs.map((job) => job.payloadText),
      jobs.map((job) => job.queue),
      jobs.map((job) => job.priority),
      jobs.map((job) => job.delayMs),
      jobs.map((job) => job.failuresMax),
      jobs.map((job) => job.lossesMax),
      jobs.map((job) => job.leaseMs),
      jobs.map((job) => job.gatesText),
      tx === undefined, // guard: enqueue.own_tx
    ],
    tx,
  )
  return new Map(rows.map((row) => [row.job_id, row.answer]))
}

/** Makes names known to `fencepost queues` and to the check for misspelt ones. */
export async function announceTasks(db: Database, tasks: readonly { name: string; queue: string }[]): Promise<void> {
  await db.move(
    `insert into fencepost.task (name, queue, first_seen_at)
     select name, queue, fencepost.clock() from unnest($1::text[], $2::text[]) as t(name, queue)
     order by name, queue -- guard: enqueue.announce_order
     on conflict do nothing`,
    () => [tasks.map((task) => task.name), tasks.map((task) => task.queue)],
  )
}
