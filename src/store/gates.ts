import type { Place } from '../job/places.js'
import type { Database, Queryable } from './database.js'

/** A gate that is in use: somebody holds it or waits at it, or a person has said something about it. Ages are by the database's clock. */
export interface GateView {
  readonly key: string
  /** In force. Null if no job has declared one yet, and nobody has set one. */
  readonly limit: number | null
  /** What a person said: it wins until it is taken back. */
  readonly setLimit: number | null
  /** What the tasks say. For a group it may be missing, if there is only a limit per process. */
  readonly declaredLimit: number | null
  readonly perProcess: number | null
  readonly declaredBy: string | null
  /** Another task, that declares another limit for this key: the lower one holds. */
  readonly disputedBy: string | null
  readonly held: number
  readonly waiting: number
  readonly oldestWaitingMs: number | null
  readonly pausedAt: Date | null
  readonly pausedMs: number | null
}

/** A job that has a slot. */
export interface GateHolder {
  readonly jobId: string
  readonly task: string
  readonly queue: string
  readonly place: Place
  readonly worker: string | null
  readonly failures: number
  /** Running, waiting at its next gate, or between two tries for that long; not known of a job that is ready. */
  readonly sinceMs: number | null
  /** Of a delayed or parked job. */
  readonly dueInMs: number | null
  readonly signal: string | null
  /** It has held the slot for too long: it runs on, and is not counted. */
  readonly overrun: boolean
}

export interface GateWaiter {
  readonly jobId: string
  readonly task: string
  readonly queue: string
  readonly priority: number
  readonly sinceMs: number
}

export interface GateDetail extends GateView {
  /** There may be more than are listed, as with the waiters. */
  readonly holders: readonly GateHolder[]
  /** The next first. */
  readonly waiters: readonly GateWaiter[]
}

export type SkipAnswer = 'skipped' | 'not_held' | 'running' | 'ready' | 'waiting' | 'finished' | 'missing'

export const gatesListedMax = 1_000
const holdersListedMax = 100
const waitersListedMax = 20

export const ageMs = (since: string) => `extract(epoch from fencepost.clock() - ${since})::float8 * 1000`

/** `at` tells which gates, of a column `key`. Counts every waiter: under a second for a million of them, for a person who asks. */
const gateViews = (at: string) => `
  select key,
         case when num_nonnulls(g.set_limit, g.declared_limit, g.local_limit) > 0
              then fencepost.limit_in_force(g) end as "limit",
         g.set_limit as "setLimit", g.declared_limit as "declaredLimit", g.local_limit as "perProcess",
         g.declared_by as "declaredBy", g.disputed_by as "disputedBy",
         coalesce(g.held, 0) - coalesce((select sum(n.freed) from fencepost.nudge n where n.key = g.key), 0)::integer as held,
         coalesce(w.waiting, 0) as waiting, ${ageMs('w.oldest')} as "oldestWaitingMs",
         g.paused_at as "pausedAt", ${ageMs('g.paused_at')} as "pausedMs"
  from (select * from fencepost.gate where ${at}) g
  full join (
    select key, count(*) as waiting, min(since) as oldest
    from (select gate as key, since from fencepost.waiting) w where ${at} group by key
  ) w using (key)`

/** The longest lines first. */
export function listGates(db: Database): Promise<GateView[]> {
  return db.read<GateView>(`${gateViews(`key not like 'pause:%'`)} order by waiting desc, key limit $1`, [
    gatesListedMax,
  ])
}

/** Whoever has a slot of the gate $1. No index tells: the place rows are looked through, half a second for a million. */
const holders = `
  select h.*, ${ageMs('h.since')} as "sinceMs", -(${ageMs('h.due_at')}) as "dueInMs"
  from (
    select l.job_id, l.task, l.queue, 'leased' as place, l.worker, l.failures, l.claimed_at as since,
           null::timestamptz as due_at, null as signal, coalesce($1 = any (l.overrun), false) as overrun, l.seq, 1 as turn
    from fencepost.leased l where $1 = any (l.gates[1:l.held])
    union all
    select r.job_id, r.task, r.queue, 'ready', null, r.failures, null, null, null, false, r.seq, 2
    from fencepost.ready r where r.gates is not null and $1 = any (r.gates[1:r.held])
    union all
    select w.job_id, w.task, w.queue, 'waiting', null, w.failures, w.since, null, null, false, w.seq, 3
    from fencepost.waiting w where w.held > 0 and $1 = any (w.gates[1:w.held])
    union all
    select d.job_id, d.task, d.queue, d.place, null, d.failures,
           (select max(a.ended_at) from fencepost.attempt a where a.job_id = d.job_id), d.due_at, d.signal, false, d.seq, 4
    from (
      select job_id, task, queue, 'delayed' as place, failures, due_at, null as signal, seq, gates, held from fencepost.delayed
      union all
      select job_id, task, queue, 'parked', failures, due_at, wait_name, seq, gates, held from fencepost.parked
    ) d
    where d.held > 0 and $1 = any (d.gates[1:d.held])
  ) h
  order by h.overrun, h.turn, h.seq
  limit $2`

const holderFields = `'jobId', h.job_id, 'task', h.task, 'queue', h.queue, 'place', h.place, 'worker', h.worker,
  'failures', h.failures, 'sinceMs', h."sinceMs", 'dueInMs', h."dueInMs", 'signal', h.signal, 'overrun', h.overrun`

/** Undefined if nobody holds it or waits at it, and no person has said anything about it. One snapshot. */
export async function readGate(db: Database, key: string): Promise<GateDetail | undefined> {
  const rows = await db.read<GateDetail>(
    `select v.*,
            (select coalesce(json_agg(json_build_object(${holderFields}) order by h.overrun, h.turn, h.seq), '[]')
             from (${holders}) h) as holders,
            (select coalesce(json_agg(json_build_object('jobId', w.job_id, 'task', w.task, 'queue', w.queue,
               'priority', w.priority, 'sinceMs', ${ageMs('w.since')}) order by w.rank, w.seq), '[]')
             from (select * from fencepost.waiting w where w.gate = $1 order by w.rank, w.seq limit $3) w) as waiters
     from (${gateViews('key = $1::text')}) v`,
    [key, holdersListedMax, waitersListedMax],
  )
  return rows[0]
}

/** The first few that have a slot of this gate. */
export async function listHolders(db: Database, key: string, limit: number): Promise<GateHolder[]> {
  const rows = await db.read<{ holder: GateHolder }>(
    `select json_build_object(${holderFields}) as holder from (${holders}) h order by h.overrun, h.turn, h.seq`,
    [key, limit],
  )
  return rows.map(({ holder }) => holder)
}

/** A queue or a task of which nothing is claimed. */
export interface PauseView {
  readonly kind: 'queue' | 'task'
  readonly name: string
  readonly pausedAt: Date
  readonly pausedMs: number
}

/** The queues and tasks that are paused; paused gates are among the gates. */
export function listPauses(db: Database): Promise<PauseView[]> {
  return db.read<PauseView>(
    `select split_part(key, ':', 2) as kind, regexp_replace(key, '^pause:(queue|task):', '') as name,
            paused_at as "pausedAt", ${ageMs('paused_at')} as "pausedMs"
     from fencepost.gate
     where paused_at is not null and key >= 'pause:' and key < 'pause;'
     order by key`,
  )
}

/** A person's word on a limit, or null to take it back. Answers the limit that was in force, null if there was none. */
export async function setLimit(db: Database, key: string, limit: number | null): Promise<number | null> {
  const rows = await db.move<{ before: number | null }>('select fencepost.set_limit($1, $2) as before', () => [
    key,
    limit,
  ])
  return (rows[0] as (typeof rows)[0]).before
}

/** `queue:<name>`, `task:<name>` or the key of a gate. False if it was paused already. */
export async function pause(db: Database, what: string): Promise<boolean> {
  const rows = await db.move<{ changed: boolean }>('select fencepost.pause($1) as changed', () => [what])
  return (rows[0] as (typeof rows)[0]).changed
}

/** False if it was not paused. */
export async function resume(db: Database, what: string): Promise<boolean> {
  const rows = await db.move<{ changed: boolean }>('select fencepost.resume($1) as changed', () => [what])
  return (rows[0] as (typeof rows)[0]).changed
}

/** Lets the others pass a job that keeps its strict gate while it is delayed or parked. */
export async function skip(db: Database, jobId: string, tx?: Queryable): Promise<SkipAnswer> {
  const rows = await db.move<{ answer: SkipAnswer }>(
    'select fencepost.skip($1, $2) as answer',
    () => [jobId, tx === undefined], // guard: gates.skip_own_tx
    tx,
  )
  return (rows[0] as (typeof rows)[0]).answer
}
