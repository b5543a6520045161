import { newJobId } from '../job/job-id.js'
import type { Json } from '../job/json.js'
import type { ActiveDetail } from '../workflow/situation.js'
import type { Letter, Run, RunState, Status, TaskRun, Trouble } from '../workflow/run.js'
import type { Definition } from '../workflow/definition.js'
import type { Task } from '../task/task.js'
import type { Database, Queryable } from './database.js'

export interface StoredWorkflow {
  readonly name: string
  readonly version: number
  readonly definition: Definition
}

/** Answers its version: the same definition is the same version. */
export async function putWorkflow(db: Database, definition: Definition, digest: string): Promise<number> {
  const rows = await db.move<{ version: number }>('select fencepost.put_workflow($1, $2, $3::jsonb) as version', () => [
    definition.name,
    digest,
    JSON.stringify(definition),
  ])
  return (rows[0] as (typeof rows)[0]).version
}

/** This version, or the one that was put last. */
export async function readWorkflow(db: Database, name: string, version?: number): Promise<StoredWorkflow | undefined> {
  const rows = await db.read<StoredWorkflow>(
    `select name, version, definition from fencepost.workflow
     where name = $1 and ($2::integer is null or version = $2)
     order by deployed_at desc limit 1`,
    [name, version ?? null],
  )
  return rows[0]
}

/** What others need to know of a task to make jobs of it. */
export interface ActionCard {
  readonly task: string
  readonly queue: string
  readonly priority: number
  readonly failuresMax: number
  readonly lossesMax: number
  readonly leaseMs: number
  /** It has gates whose keys only its code can tell. */
  readonly keyed: boolean
}

export async function putActions(db: Database, cards: readonly ActionCard[]): Promise<void> {
  if (cards.length === 0) return
  await db.move(
    `insert into fencepost.action as a (task, queue, priority, failures_max, losses_max, lease_ms, keyed, seen_at)
     select c.*, fencepost.clock()
     from unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::smallint[], $6::integer[], $7::boolean[]) as c
     order by 1 -- guard: runs.actions_order
     on conflict (task) do update
       set queue = excluded.queue, priority = excluded.priority, failures_max = excluded.failures_max,
           losses_max = excluded.losses_max, lease_ms = excluded.lease_ms, keyed = excluded.keyed,
           seen_at = excluded.seen_at
       where (a.queue, a.priority, a.failures_max, a.losses_max, a.lease_ms, a.keyed)
         is distinct from (excluded.queue, excluded.priority, excluded.failures_max, excluded.losses_max,
                           excluded.lease_ms, excluded.keyed)`,
    () => [
      cards.map((card) => card.task),
      cards.map((card) => card.queue),
      cards.map((card) => card.priority),
      cards.map((card) => card.failuresMax),
      cards.map((card) => card.lossesMax),
      cards.map((card) => card.leaseMs),
      cards.map((card) => card.keyed),
    ],
  )
}

/** The tasks that some process has registered; `keyed`: see ActionCard. */
export async function readActions(db: Database): Promise<ReadonlyMap<string, { keyed: boolean }>> {
  const rows = await db.read<{ task: string; keyed: boolean }>('select task, keyed from fencepost.action')
  return new Map(rows.map(({ task, keyed }) => [task, { keyed }]))
}

export interface NewRunRow {
  readonly id: string
  readonly workflow: string
  readonly version: number
  readonly parametersText: string
  /** Tasks whose code an advance needs. */
  readonly needs: readonly string[]
}

export async function startRun(db: Database, run: NewRunRow, tx?: Queryable): Promise<'started' | 'existing'> {
  const rows = await db.move<{ answer: 'started' | 'existing' }>(
    'select answer from fencepost.start_run($1, $2, $3, $4::jsonb, $5::text[])',
    () => [run.id, run.workflow, run.version, run.parametersText, run.needs],
    tx,
  )
  return (rows[0] as (typeof rows)[0]).answer
}

/** A run that has something to do, and what an advance decides on. */
export interface Called {
  readonly run: Run
  readonly nowMs: number
  readonly letters: readonly Letter[]
  readonly active: readonly (TaskRun & ActiveDetail)[]
}

interface CalledRow {
  context: {
    run: {
      id: string
      revision: number
      workflow: string
      version: number
      state: RunState
      cancel_mode: Run['cancelMode']
    } & Pick<Run, 'parameters' | 'vars' | 'progress' | 'error'>
    now: number
    inbox: Letter[]
    active: (TaskRun & ActiveDetail & { via_ordinal: number | null })[]
  }
}

/** `tasks`: those whose code this process has. */
export async function takeCalls(db: Database, tasks: readonly string[], limit: number): Promise<Called[]> {
  const rows = await db.move<CalledRow>('select context from fencepost.take_calls($1::text[], $2)', () => [
    tasks,
    limit,
  ])
  return rows.map(({ context: { run, now, inbox, active } }) => ({
    run: { ...run, cancelMode: run.cancel_mode },
    nowMs: now,
    letters: inbox,
    active: active.map(({ via_ordinal, ...task }) => ({ ...task, viaOrdinal: via_ordinal })),
  }))
}

/** `conflict`: the run is no longer as it was; `locked`: somebody holds it just now. */
export type AdvanceAnswer = 'advanced' | 'conflict' | 'locked'

/** Each change is done whole, or not at all. */
export async function advance(db: Database, changes: readonly unknown[]): Promise<Map<string, AdvanceAnswer>> {
  const rows = await db.move<{ run_id: string; answer: AdvanceAnswer }>(
    'select * from fencepost.advance($1::jsonb)',
    () => [JSON.stringify(changes)],
  )
  return new Map(rows.map(({ run_id, answer }) => [run_id, answer]))
}

/** Runs whose timers are due are told; answers how many timers. */
export async function ringTimers(db: Database): Promise<number> {
  const rows = await db.move<{ count: number }>('select fencepost.ring() as count', () => [])
  return rows[0]?.count ?? 0
}

interface ItemView {
  readonly status: Status
  readonly result: Json
  readonly error: Json
}

export interface TaskRunResult {
  readonly result: Json
  readonly error: Json
  /** In item order; null if the task has none. */
  readonly items: readonly ItemView[] | null
}

/** What a task run that has ended came to: its own result, that of its only item, or those of all its items. */
export async function readTaskRunResult(
  db: Database,
  runId: string,
  task: string,
  ordinal: number,
): Promise<TaskRunResult> {
  const rows = await db.read<TaskRunResult>(
    `select t.error, a.items,
            case when t.items is null then coalesce(t.result, f.result, r.output) end as result
     from fencepost.task_run t
     left join fencepost.finished f on t.items is null and f.job_id = fencepost.item_id(t.run_id, t.task, t.ordinal, 0)
     left join fencepost.run r on t.items is null and r.id = fencepost.item_id(t.run_id, t.task, t.ordinal, 0)
     left join lateral (
       select coalesce(jsonb_agg(jsonb_build_object(
                'status', case when coalesce(i.error, c.error) ->> 'code' = 'FP_TIMED_OUT' then 'timed_out'
                               when coalesce(i.outcome::text, c.state) in ('succeeded', 'cancelled')
                               then coalesce(i.outcome::text, c.state) else 'failed' end,
                'result', coalesce(i.result, c.output), 'error', coalesce(i.error, c.error)) order by n), '[]') as items
       from generate_series(0, t.dispatched - 1) as n
       left join fencepost.finished i on i.job_id = fencepost.item_id(t.run_id, t.task, t.ordinal, n)
       left join fencepost.run c on t.action like 'workflow.%' and c.id = fencepost.item_id(t.run_id, t.task, t.ordinal, n)
     ) a on t.items is not null
     where t.run_id = $1 and t.task = $2 and t.ordinal = $3`,
    [runId, task, ordinal],
  )
  return rows[0] ?? { result: null, error: null, items: null }
}

export interface Controlled<Answer extends string> {
  readonly answer: Answer | 'already' | 'ended' | 'missing' | 'failing' | 'cancelling' | 'running' | 'paused'
  readonly state: RunState | null
}

export function pauseRun(db: Database, id: string, tx?: Queryable): Promise<Controlled<'paused'>> {
  return control(db, 'pause_run($1)', [id], tx)
}

export function resumeRun(db: Database, id: string, tx?: Queryable): Promise<Controlled<'resumed'>> {
  return control(db, 'resume_run($1)', [id], tx)
}

export function cancelRun(
  db: Database,
  id: string,
  mode: 'allow_finish' | 'cancel_running',
  reason: string | undefined,
  tx?: Queryable,
): Promise<Controlled<'cancelling'>> {
  return control(db, 'cancel_run($1, $2, $3)', [id, mode, reason ?? null], tx)
}

export interface Rerun {
  readonly answer: 'rerunning' | 'running' | 'never_reached' | 'item_of' | 'missing'
  readonly state: RunState | null
}

/** `later`: the tasks that the end of this one can lead to. */
export function rerun(
  db: Database,
  id: string,
  task: string,
  { reset, later }: { reset: boolean; later: readonly string[] },
  tx?: Queryable,
): Promise<Rerun> {
  return control(db, 'rerun($1, $2, $3, $4::text[])', [id, task, reset, later], tx)
}

async function control<Answer>(db: Database, move: string, values: unknown[], tx?: Queryable): Promise<Answer> {
  const rows = await db.move<Answer>(`select answer, state from fencepost.${move}`, () => values, tx)
  return rows[0] as Answer
}

/** `full`: too many that nothing has waited for are kept already. */
export type TellAnswer = 'sent' | 'full' | 'ended' | 'missing'

/** Sends a run a signal, or an answer to a question of one of its tasks. */
export async function tellRun(
  db: Database,
  id: string,
  letter: { kind: 'signal' | 'answer'; name: string; payloadText: string; ordinal?: number },
  tx?: Queryable,
): Promise<TellAnswer> {
  const letterId = newJobId()
  const { kind, name, payloadText, ordinal = null } = letter
  const rows = await db.move<{ answer: TellAnswer }>(
    'select fencepost.tell_run($1, $2, $3, $4::jsonb, $5, $6) as answer',
    () => [id, kind, name, payloadText, letterId, ordinal], // guard: runs.letter_id
    tx,
  )
  return (rows[0] as (typeof rows)[0]).answer
}

export interface RunView {
  readonly id: string
  readonly workflow: string
  readonly version: number
  readonly state: RunState
  readonly createdAt: Date
  readonly endedAt: Date | null
  readonly error: Trouble | null
  /** The run of which it is an item. */
  readonly parentId: string | null
}

const runColumns = `r.id, r.workflow, r.version, r.state, r.created_at as "createdAt", r.ended_at as "endedAt", r.error,
  r.parent_id as "parentId"`

export interface ListRunsOptions {
  readonly workflow?: string
  readonly state?: RunState
  readonly limit?: number
}

/** The newest first. */
export function listRuns(db: Database, { workflow, state, limit = 50 }: ListRunsOptions): Promise<RunView[]> {
  return db.read<RunView>(
    `select ${runColumns} from fencepost.run r
     where ($1::text is null or r.workflow = $1) and ($2::text is null or r.state = $2)
     order by r.id desc limit $3`,
    [workflow ?? null, state ?? null, limit],
  )
}

export interface TaskRunView extends Omit<TaskRun, 'result'> {
  readonly startedAt: Date
  readonly endedAt: Date | null
  /** Of a task without items: the job or the run that is its item. */
  readonly itemId: string
}

export interface RunDetail extends RunView {
  readonly definition: Definition
  readonly parameters: Readonly<Record<string, Json>>
  readonly vars: Readonly<Record<string, Json>>
  readonly output: Json
  readonly revision: number
  /** In the order in which they began. */
  readonly taskRuns: readonly TaskRunView[]
  /** Times that it waits for. */
  readonly timers: readonly {
    readonly task: string | null
    readonly ordinal: number | null
    readonly kind: string
    readonly dueAt: Date
  }[]
  /** By the database's clock. */
  readonly now: Date
}

export async function readRun(db: Database, id: string): Promise<RunDetail | undefined> {
  const rows = await db.read<RunDetail>(
    `select ${runColumns}, w.definition, r.parameters, r.vars, r.output, r.revision, fencepost.clock() as now
     from fencepost.run r
     join fencepost.workflow w on w.name = r.workflow and w.version = r.version
     where r.id = $1`,
    [id],
  )
  const run = rows[0]
  if (!run) return undefined
  const taskRuns = await db.read<TaskRunView>(
    `select task, ordinal, action, state, total, dispatched, succeeded, failed, stopped, stop, concurrency, via,
            via_ordinal as "viaOrdinal", input, error, started_at as "startedAt", ended_at as "endedAt",
            fencepost.item_id(run_id, task, ordinal, 0) as "itemId"
     from fencepost.task_run where run_id = $1
     order by seq`,
    [id],
  )
  const timers = await db.read<RunDetail['timers'][number]>(
    'select task, ordinal, kind, due_at as "dueAt" from fencepost.timer where run_id = $1 order by due_at',
    [id],
  )
  return { ...run, taskRuns, timers }
}

/** What others need to know of this task. */
export function actionCard(task: Task<unknown, unknown>): ActionCard {
  return {
    task: task.name,
    queue: task.queue,
    priority: task.priority,
    failuresMax: task.retry.limit,
    lossesMax: task.lossesMax,
    leaseMs: task.leaseMs,
    keyed: task.gates.length > 0 || task.group !== undefined,
  }
}

export interface WorkflowView {
  readonly name: string
  readonly version: number
  readonly deployedAt: Date
  readonly description: string | null
}

/** The newest version of each. */
export function listWorkflows(db: Database): Promise<WorkflowView[]> {
  return db.read<WorkflowView>(
    `select distinct on (name) name, version, deployed_at as "deployedAt", definition ->> 'description' as description
     from fencepost.workflow order by name, deployed_at desc`,
  )
}
