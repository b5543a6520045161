import type { Fence } from '../job/places.js'
import type { Database } from './database.js'
import { fenceColumns, type Lost, lost, type LostRow } from './lease.js'

/** What is notified when a job becomes ready and a worker sleeps; the payload is the queue. */
export const readyChannel = 'fencepost.ready'

export interface WorkerCard {
  readonly id: string
  readonly pid: number
  readonly host: string
  readonly version: string
  readonly queues: Readonly<Record<string, number>>
  readonly tasks: readonly string[]
}

export async function registerWorker(db: Database, card: WorkerCard): Promise<void> {
  await db.move('select fencepost.register($1, $2, $3, $4, $5, $6::text[])', () => [
    card.id,
    card.pid,
    card.host,
    card.version,
    JSON.stringify(card.queues),
    card.tasks,
  ])
}

/** False if others took this worker for dead. */
export async function seeWorker(db: Database, id: string, stopping: boolean): Promise<boolean> {
  const rows = await db.move<{ known: boolean }>('select fencepost.see($1, $2) as known', () => [id, stopping])
  return (rows[0] as (typeof rows)[0]).known
}

export async function retireWorker(db: Database, id: string): Promise<void> {
  await db.move('select fencepost.retire($1)', () => [id])
}

/**
 * Asks to be notified of these queues, and waits for nothing: a row of `sleeper`. Answers a transaction id that is younger than every transaction which may not have
 * seen that: once none of them runs any more (`oldestTransaction`), a job that is not found will be notified.
 */
export async function fallAsleep(db: Database, id: string, queues: readonly string[]): Promise<bigint> {
  await db.move('select fencepost.sleep($1, $2::text[])', () => [id, queues])
  const rows = await db.move<{ xid: string }>('select pg_current_xact_id()::text as xid', () => [])
  return BigInt((rows[0] as (typeof rows)[0]).xid)
}

export async function awake(db: Database, id: string, queues: readonly string[]): Promise<void> {
  await db.move('select fencepost.awake($1, $2::text[])', () => [id, queues])
}

/** The oldest transaction that still runs: what those before it have done is seen by every later statement. */
export async function oldestTransaction(db: Database): Promise<bigint> {
  const rows = await db.read<{ xmin: string }>('select pg_snapshot_xmin(pg_current_snapshot())::text as xmin')
  return BigInt((rows[0] as (typeof rows)[0]).xmin)
}

/** Of the leases, those that are gone and those whose job was asked to stop. */
export async function readLeaseNews(
  db: Database,
  fences: readonly Fence[],
): Promise<{ jobId: string; leaseId: number; gone: boolean }[]> {
  if (fences.length === 0) return []
  const rows = await db.read<{ job_id: string; lease_id: number; gone: boolean }>(
    // One lookup each, whatever the statistics say: a join with a table that was emptied read all dead leases, or went through
    // all keys for each lease.
    `select a.job_id, a.lease_id, l.lease_id is null as gone
     from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as a(job_id, lease_id, nonce)
     left join lateral (
       select k.lease_id, k.cancel_requested_at
       from fencepost.leased k
       where k.lease_id = a.lease_id and k.job_id = a.job_id and k.nonce = a.nonce
       offset 0 -- guard: worker.news_by_key
     ) l on true
     where l.lease_id is null or l.cancel_requested_at is not null`,
    fenceColumns(fences),
  )
  return rows.map((row) => ({ jobId: row.job_id, leaseId: row.lease_id, gone: row.gone }))
}

export interface Reaped extends Lost {
  readonly task: string
  readonly queue: string
}

/** Takes back the leases that have run out, unless an outage is to blame, and sweeps workers that have gone. */
export async function reapExpired(db: Database, everyMs: number, limit = 1_000): Promise<Reaped[]> {
  // Not a join: for the thousand rows that the planner expects of a function, it would read all jobs.
  const rows = await db.move<LostRow & { task: string; queue: string }>(
    `select r.*, (select j.task from fencepost.job j where j.id = r.job_id) as task,
            (select j.queue from fencepost.job j where j.id = r.job_id) as queue
     from fencepost.reap($1, $2) r`,
    () => [limit, Math.round(everyMs)],
  )
  return rows.map((row) => ({ ...lost(row), task: row.task, queue: row.queue }))
}
