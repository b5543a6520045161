import type { Outcome, Place } from '../job/places.js'
import type { Database } from './database.js'
import { ageMs, type GateHolder, listHolders } from './gates.js'

/** How many are in front. Beyond a thousand it is not counted. */
export interface Ahead {
  readonly count: number
  readonly orMore: boolean
}

/** Whether a live worker serves the job's queue and task; whether there is any at all. */
export interface Workers {
  readonly any: boolean
  readonly serving: boolean
}

/** Why a job does not run at this moment. Ages are by the database's clock. */
export type WhyNotRunning =
  | { readonly because: 'running'; readonly worker: string; readonly sinceMs: number; readonly expiresInMs: number }
  | { readonly because: 'finished'; readonly outcome: Outcome; readonly reason: string | null }
  | { readonly because: 'delayed'; readonly dueInMs: number; readonly failures: number; readonly workers: Workers }
  | { readonly because: 'parked'; readonly signal: string; readonly dueInMs: number | null }
  | { readonly because: 'paused'; readonly kind: 'queue' | 'task'; readonly name: string; readonly pausedMs: number }
  | {
      readonly because: 'gate'
      readonly key: string
      readonly sinceMs: number
      readonly ahead: Ahead
      readonly limit: number | null
      readonly held: number
      /** The gate itself is paused. */
      readonly pausedMs: number | null
      /** The first few of them. */
      readonly holders: readonly GateHolder[]
      readonly workers: Workers
    }
  | { readonly because: 'no_worker'; readonly queue: string; readonly task: string; readonly workers: Workers }
  | { readonly because: 'in_line'; readonly queue: string; readonly ahead: Ahead }

/** A worker shows itself every few seconds: one that was not seen for this long is in trouble. */
export const workerSilentMs = 15_000

const aheadMax = 1_000
const holdersMax = 3

interface Situation {
  readonly place: Place
  readonly outcome: Outcome
  readonly reason: string | null
  readonly queue: string
  readonly task: string
  readonly worker: string
  readonly failures: number
  readonly leasedMs: number
  readonly expiresInMs: number
  readonly dueInMs: number | null
  readonly signal: string
  readonly gate: string
  readonly waitsMs: number
  readonly limit: number | null
  readonly held: number
  readonly gatePausedMs: number | null
  readonly pauseKey: string | null
  readonly pausedMs: number
  readonly ahead: number
  readonly anyWorker: boolean
  readonly serving: boolean
}

const situation = `
  select j.place, j.outcome, j.reason, j.queue, j.task, j.worker, j.failures,
         ${ageMs('(select l.claimed_at from fencepost.leased l where l.job_id = j.id)')} as "leasedMs",
         -(${ageMs('j.expires_at')}) as "expiresInMs", -(${ageMs('j.due_at')}) as "dueInMs", j.wait_name as signal,
         j.waits_at as gate, ${ageMs('j.waits_since')} as "waitsMs",
         case when num_nonnulls(g.set_limit, g.declared_limit, g.local_limit) > 0
              then fencepost.limit_in_force(g) end as "limit",
         coalesce(g.held, 0) - coalesce((select sum(n.freed) from fencepost.nudge n where n.key = j.waits_at), 0)::integer as held,
         ${ageMs('g.paused_at')} as "gatePausedMs", p.key as "pauseKey", ${ageMs('p.paused_at')} as "pausedMs",
         case j.place
           when 'waiting' then (
             select count(*) from (
               select 1 from fencepost.waiting w
               where w.gate = j.waits_at
                 and (w.rank, w.seq) < (case when j.waits_at like 'fifo:%' then 0 else j.priority end, j.seq)
               limit $2 + 1
             ) a)
           when 'ready' then (
             select count(*) from (
               select 1 from fencepost.ready r where r.queue = j.queue and (r.priority, r.seq) < (j.priority, j.seq)
               limit $2 + 1
             ) a)
         end as ahead,
         exists (select 1 from live) as "anyWorker",
         exists (select 1 from live w where w.queues ? j.queue and j.task = any (w.tasks)) as serving
  from fencepost.jobs j
  left join fencepost.gate g on g.key = j.waits_at
  left join lateral (
    select p.key, p.paused_at from fencepost.gate p
    where p.paused_at is not null and p.key in ('pause:queue:' || j.queue, 'pause:task:' || j.task)
    order by p.key limit 1
  ) p on true
  where j.id = $1`

/** Undefined if there is no such job. */
export async function whyNotRunning(db: Database, jobId: string): Promise<WhyNotRunning | undefined> {
  const [now] = await db.read<Situation>(
    `with live as materialized (
       select w.queues, w.tasks from fencepost.worker w
       where w.stopping_at is null and w.seen_at > fencepost.clock() - $3 * interval '1 ms'
     ) ${situation}`,
    [jobId, aheadMax, workerSilentMs],
  )
  return now && reasonIn(db, now)
}

async function reasonIn(db: Database, now: Situation): Promise<WhyNotRunning> {
  const workers: Workers = { any: now.anyWorker, serving: now.serving }
  const ahead: Ahead = { count: Math.min(now.ahead, aheadMax), orMore: now.ahead > aheadMax }
  switch (now.place) {
    case 'leased':
      return { because: 'running', worker: now.worker, sinceMs: now.leasedMs, expiresInMs: now.expiresInMs }
    case 'finished':
      return { because: 'finished', outcome: now.outcome, reason: now.reason }
    case 'delayed':
      return { because: 'delayed', dueInMs: now.dueInMs as number, failures: now.failures, workers }
    case 'parked':
      return { because: 'parked', signal: now.signal, dueInMs: now.dueInMs }
    default: // waiting or ready
      if (now.pauseKey !== null) return paused(now.pauseKey, now.pausedMs)
      if (now.place === 'waiting') return { ...(await atGate(db, now)), ahead, workers }
      return workers.serving
        ? { because: 'in_line', queue: now.queue, ahead }
        : { because: 'no_worker', queue: now.queue, task: now.task, workers }
  }
}

function paused(key: string, pausedMs: number): WhyNotRunning {
  const [, kind, name] = /^pause:(queue|task):(.*)$/s.exec(key) as unknown as [string, 'queue' | 'task', string]
  return { because: 'paused', kind, name, pausedMs }
}

async function atGate(db: Database, { gate, waitsMs, limit, held, gatePausedMs }: Situation) {
  const holders = await listHolders(db, gate, holdersMax)
  return { because: 'gate', key: gate, sinceMs: waitsMs, limit, held, pausedMs: gatePausedMs, holders } as const
}
