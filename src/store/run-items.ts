import type { RunState } from '../workflow/run.js'
import type { Database } from './database.js'

/** A run that is an item of a task run of another. */
export interface SubRunView {
  readonly id: string
  readonly task: string
  readonly ordinal: number
  readonly item: number
  readonly workflow: string
  readonly state: RunState
  readonly createdAt: Date
  readonly endedAt: Date | null
}

/** Those that have not ended first, then those that did not succeed, then the newest. */
export function listSubRuns(db: Database, runId: string, limit: number): Promise<SubRunView[]> {
  return db.read<SubRunView>(
    `select r.id, r.parent_task as task, r.parent_ordinal as ordinal, r.parent_item as item, r.workflow, r.state,
            r.created_at as "createdAt", r.ended_at as "endedAt"
     from fencepost.run r
     where r.parent_id = $1
     order by r.ended_at is not null, r.state = 'succeeded', r.created_at desc, r.parent_item
     limit $2`,
    [runId, limit],
  )
}

/** The first item of a task run whose job has not ended. */
export async function firstOpenItem(
  db: Database,
  runId: string,
  task: string,
  ordinal: number,
  dispatched: number,
): Promise<{ readonly item: number; readonly jobId: string } | undefined> {
  const rows = await db.read<{ item: number; jobId: string }>(
    `select n as item, fencepost.item_id($1, $2, $3, n) as "jobId"
     from generate_series(0, $4::integer - 1) as n
     where not exists (select 1 from fencepost.finished f where f.job_id = fencepost.item_id($1, $2, $3, n))
     order by n
     limit 1`,
    [runId, task, ordinal, dispatched],
  )
  return rows[0]
}

/** An item that did not succeed. */
export interface FailedItemView {
  readonly task: string
  readonly ordinal: number
  readonly item: number
  readonly jobId: string
  readonly outcome: string
  readonly message: string | null
}

/** The first items of a task run whose jobs ended without success; those that were only not begun come last. */
export function listFailedItems(
  db: Database,
  runId: string,
  task: string,
  ordinal: number,
  dispatched: number,
  limit: number,
): Promise<FailedItemView[]> {
  return db.read<FailedItemView>(
    `select $2 as task, $3::integer as ordinal, n as item, f.job_id as "jobId", f.outcome::text,
            coalesce(f.error ->> 'message', f.reason) as message
     from generate_series(0, $4::integer - 1) as n
     join fencepost.finished f on f.job_id = fencepost.item_id($1, $2, $3, n)
     where f.outcome <> 'succeeded'
     order by f.outcome = 'cancelled', n
     limit $5`,
    [runId, task, ordinal, dispatched, limit],
  )
}
