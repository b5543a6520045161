import type { Database } from './database.js'

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
       on conflict do nothing -- guard: sqs-move-tasks.one
       returning id
     )
     select id from made
     union all -- guard: sqs-move-tasks.started_again
     select id from fencepost.sqs_move_task where id = $1`,
    () => [task.id, task.source, task.destination, task.perSecond],
  )
  return rows.length > 0
}

/** How many were moved; undefined if there is no such task, or it has ended. */
export async function cancelMoveTask(db: Database, id: string, source: string): Promise<number | undefined> {
  const rows = await db.move<{ moved: number }>(
    `update fencepost.sqs_move_task set status = 'CANCELLING'
     where id = $1 and source = $2 and status in ('RUNNING', 'CANCELLING') -- guard: sqs-move-tasks.cancel_running
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
