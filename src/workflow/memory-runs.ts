import type { Json } from '../job/json.js'
import { decide } from './conductor.js'
import { type Ended, type Known, Missing, type StartableWorkflow } from './situation.js'
import { isRun } from './built-in-actions.js'
import type { Definition } from './definition.js'
import { type Plan, planOf } from './plan.js'
import type { Change, Ending, ItemEnding, JobPolicy, Letter, Run, Status, TaskRunChange } from './run.js'
import { startable } from './startable.js'
import type { VirtualClock } from './virtual-clock.js'

/** Which item of which task run. */
export interface ItemPlace {
  readonly run: string
  readonly task: string
  readonly ordinal: number
  readonly item: number
}

/** An item that was made: in the database a job, or a run. */
export interface MemoryItem extends ItemPlace {
  readonly action: string
  readonly input: Json
  readonly delayMs: number
  readonly policy: JobPolicy | null
  /** How many of its task run run at a time; null: all. */
  readonly concurrency: number | null
}

/** Those who do what runs ask for: in the database workers, other runs and time. */
export interface Outside {
  make(items: readonly MemoryItem[]): void
  /** Items of a task run are to end: those that do not run, or all. */
  stop(taskRun: Omit<ItemPlace, 'item'>, which: 'unstarted' | 'all'): void
  /** A task run waits for the end of this run, which is not in memory. */
  watch(taskRun: Omit<ItemPlace, 'item'>, watched: string): void
}

export interface MemoryTaskRun extends Omit<TaskRunChange, 'stopped'> {
  stopped: number
  items: readonly Json[] | null
  readonly startedMs: number
  /** Of the items made so far. */
  readonly inputs: Json[]
}

interface Stored {
  run: Run
  readonly plan: Plan
  output: Json
  inbox: Letter[]
  /** By `task/ordinal`, in the order in which they began. */
  readonly taskRuns: Map<string, MemoryTaskRun>
  /** Those that have not ended. */
  readonly active: Set<MemoryTaskRun>
  readonly endings: Map<string, ItemEnding>
  /** How to take them back. */
  readonly timers: Set<{ readonly task: string | null; readonly ordinal: number | null; readonly clear: () => void }>
  readonly parent: ItemPlace | null
}

export interface MemoryRunsOptions {
  readonly clock: VirtualClock
  readonly outside: Outside
  /** Workflows that tasks may name: their runs are in memory, too. Of others, the outside makes up what comes of them. */
  readonly workflows?: ReadonlyMap<string, Definition>
  /** Workflows whose parameters are checked, without running them. */
  readonly declared?: ReadonlyMap<string, Definition>
}

/**
 * Runs in the memory of this process. A change means here what sql/moves/advance.sql makes of it, and is decided by the
 * same function; there is nobody else, so that a run is always as it was when its change was decided.
 */
export class MemoryRuns {
  readonly #options: MemoryRunsOptions
  readonly #runs = new Map<string, Stored>()
  readonly #called = new Set<string>()
  #letters = 0

  constructor(options: MemoryRunsOptions) {
    this.#options = options
  }

  start(
    id: string,
    definition: Definition,
    parameters: Readonly<Record<string, Json>>,
    parent: ItemPlace | null,
    progress: Run['progress'] = {},
  ): void {
    const run: Run = {
      id,
      revision: 0,
      workflow: definition.name,
      version: 1,
      state: 'running',
      cancelMode: null,
      parameters,
      vars: {},
      progress,
      error: null,
    }
    const nothing = { taskRuns: new Map(), active: new Set<never>(), endings: new Map(), timers: new Set<never>() }
    this.#runs.set(id, { run, plan: planOf(definition), output: null, inbox: [], parent, ...nothing })
    this.#tell(id, { kind: 'start' })
  }

  view(
    id: string,
  ): Pick<Stored, 'run' | 'output'> & { readonly [Part in 'taskRuns' | 'active']: Iterable<MemoryTaskRun> } {
    const { run, output, taskRuns, active } = this.#stored(id)
    return { run, output, taskRuns: taskRuns.values(), active }
  }

  /** Advances the runs that were told something, until none was. */
  advance(): void {
    for (const id of this.#called) {
      this.#called.delete(id)
      const stored = this.#stored(id)
      if (!isOver(stored.run)) this.#apply(stored, this.#decide(stored))
    }
  }

  endItem({ run, task, ordinal, item }: ItemPlace, ending: ItemEnding): void {
    const { endings } = this.#stored(run)
    endings.set(`${task}/${ordinal}/${item}`, ending)
    const { result: _result, error: _error, ...payload } = ending
    this.#tell(run, { kind: 'item', task, ordinal, item, payload })
  }

  endWatch({ run, task, ordinal }: Omit<ItemPlace, 'item'>, payload: Ending & { run: string }): void {
    this.#tell(run, { kind: 'watched', task, ordinal, payload })
  }

  send(run: string, kind: 'signal' | 'answer', task: string, said: Json): void {
    const stored = this.#stored(run)
    if (isOver(stored.run)) return
    // As the client does it: the question that is asked now, or the first one.
    const asked = [...stored.active].find((each) => each.task === task && each.state === 'waiting')
    this.#tell(run, { kind, task, ordinal: asked?.ordinal ?? 1, payload: { id: String(this.#letters), said } })
  }

  #tell(id: string, letter: DistributiveOmit<Letter, 'ids'>): void {
    this.#stored(id).inbox.push({ ...letter, ids: [++this.#letters] })
    this.#called.add(id)
  }

  #stored(id: string): Stored {
    const stored = this.#runs.get(id)
    if (!stored) throw new Error(`there is no run ${id} in memory`)
    return stored
  }

  #decide(stored: Stored): Change {
    const { run, plan, inbox } = stored
    const active = [...stored.active].map(
      ({ items, ended: _ended, startedMs: _startedMs, inputs: _inputs, ...task }) => ({
        ...task,
        slice:
          items !== null && task.dispatched < task.total && task.stop === null ? items.slice(task.dispatched) : null,
        ending: items === null ? endingOf(stored, task) : null,
      }),
    )
    const known: Known = {
      result: (task, ordinal) => resultOf(stored, task, ordinal),
      workflow: (name) => this.#startable(name),
    }
    return decide({ run, plan, active, letters: [...inbox], nowMs: this.#options.clock.nowMs, known })
  }

  #startable(name: string): StartableWorkflow {
    const definition = this.#options.workflows?.get(name) ?? this.#options.declared?.get(name)
    if (definition) return startable({ version: 1, definition }, [])
    return { version: 1, needs: [], check: (parameters) => ({ parameters: parameters as Record<string, Json> }) }
  }

  #apply(stored: Stored, change: Change): void {
    const { run } = stored
    const { state, vars, progress, error } = change
    stored.run = { ...run, revision: run.revision + 1, state, vars: vars ?? run.vars, progress, error }
    stored.output = change.output
    stored.inbox = stored.inbox.filter(({ ids }) => !ids.some((id) => change.read.includes(id)))
    for (const begun of change.begin) {
      const task = { ...begun, startedMs: this.#options.clock.nowMs, inputs: [] }
      stored.taskRuns.set(`${task.task}/${task.ordinal}`, task)
      if (!task.ended) stored.active.add(task)
    }
    for (const { stopped: _stopped, ...update } of change.update) {
      const task = stored.taskRuns.get(`${update.task}/${update.ordinal}`)
      if (!task || task.ended) continue
      if (update.stop !== task.stop) task.stopped = 0
      Object.assign(task, update, {
        result: update.result ?? task.result,
        input: update.input ?? task.input,
        items: update.items ?? task.items,
      })
      if (task.ended) leave(stored, task)
    }
    for (const { task, ordinal, kind, ms, at } of change.timers) this.#setTimer(stored, task, ordinal, kind, ms, at)
    for (const { task, ordinal, run: watched } of change.watch) {
      this.#options.outside.watch({ run: run.id, task, ordinal }, watched)
    }
    for (const made of change.runs) this.#makeRun(stored, made)
    for (const { task, ordinal, from, inputs, ...rest } of change.jobs) {
      stored.taskRuns.get(`${task}/${ordinal}`)?.inputs.push(...inputs)
      const items = inputs.map((input, n) => ({ ...rest, run: run.id, task, ordinal, item: from + n, input }))
      this.#options.outside.make(items)
    }
    this.#stopItems(stored)
    if (change.more) this.#called.add(run.id)
    if (isOver(stored.run)) this.#end(stored)
  }

  #setTimer(
    stored: Stored,
    task: string | null,
    ordinal: number | null,
    kind: Change['timers'][number]['kind'],
    ms = 0,
    at?: string,
  ): void {
    const { clock } = this.#options
    const clear = clock.at(at === undefined ? clock.nowMs + ms : Date.parse(at), () => {
      stored.timers.delete(timer)
      this.#tell(stored.run.id, {
        kind: 'timer',
        payload: kind,
        ...(task !== null && { task }),
        ...(ordinal !== null && { ordinal }),
      })
    })
    const timer = { task, ordinal, clear }
    stored.timers.add(timer)
  }

  #makeRun(stored: Stored, { task, ordinal, item, workflow, parameters, progress }: Change['runs'][number]): void {
    const place = { run: stored.run.id, task, ordinal, item }
    stored.taskRuns.get(`${task}/${ordinal}`)?.inputs.push(parameters)
    const definition = this.#options.workflows?.get(workflow)
    if (definition) return this.start(idOf(place), definition, parameters, place, progress)
    const made = { ...place, action: `workflow.${workflow}`, input: parameters as Json }
    this.#options.outside.make([{ ...made, delayMs: 0, policy: null, concurrency: null }])
  }

  #stopItems({ run, active }: Stored): void {
    for (const task of active) {
      if (task.stop === null || task.stopped >= task.dispatched) continue
      task.stopped = task.dispatched
      this.#options.outside.stop({ run: run.id, task: task.task, ordinal: task.ordinal }, task.stop)
      if (!isRun(task.action) || task.stop !== 'all') continue
      for (let item = 0; item < task.dispatched; item++) {
        const inner = this.#runs.get(idOf({ run: run.id, task: task.task, ordinal: task.ordinal, item }))
        if (!inner || isOver(inner.run)) continue
        inner.run = {
          ...inner.run,
          revision: inner.run.revision + 1,
          state: 'cancelling',
          cancelMode: 'cancel_running',
        }
        this.#called.add(inner.run.id)
      }
    }
  }

  #end(stored: Stored): void {
    for (const { clear } of stored.timers) clear()
    if (!stored.parent) return
    const { state, error } = stored.run
    const { code = null, message = null } = error ?? {}
    const outcome = state as 'succeeded' | 'failed' | 'cancelled'
    this.endItem(stored.parent, { outcome, code, message, result: stored.output, error: error as Json })
  }
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

export function isOver({ state }: Pick<Run, 'state'>): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled'
}

function leave({ active, timers }: Stored, task: MemoryTaskRun): void {
  active.delete(task)
  for (const timer of timers) {
    if (timer.task !== task.task || timer.ordinal !== task.ordinal) continue
    timer.clear()
    timers.delete(timer)
  }
}

function idOf({ run, task, ordinal, item }: ItemPlace): string {
  return `${run}/${task}/${ordinal}/${item}`
}

/** What the only item of a task run came to. */
function endingOf({ endings }: Stored, { task, ordinal }: { task: string; ordinal: number }) {
  const ending = endings.get(`${task}/${ordinal}/0`)
  return ending ? { result: ending.result ?? null, error: ending.error ?? null } : null
}

/** What a task run that has ended came to: its own result, that of its only item, or those of all its items. */
function resultOf({ plan, taskRuns, endings }: Stored, name: string, ordinal: number): Ended {
  const task = taskRuns.get(`${name}/${ordinal}`)
  if (!task) throw new Missing({ task: name, ordinal })
  const error = task.error as Json
  const result = task.result ?? endings.get(`${name}/${ordinal}/0`)?.result ?? null
  const each = itemsOf(task, plan, endings)
  return each ? { result: each.map((item) => item.result), error, items: each } : { result, error }
}

function itemsOf({ task, ordinal, items, dispatched, result }: MemoryTaskRun, plan: Plan, endings: Stored['endings']) {
  if (items) return Array.from({ length: dispatched }, (_, n) => itemView(endings.get(`${task}/${ordinal}/${n}`)))
  // What needs nobody has no items of its own.
  const isList = plan.tasks.get(task)?.definition.items != null && Array.isArray(result)
  return isList ? result.map((each) => itemView({ outcome: 'succeeded', result: each })) : undefined
}

function itemView(ending: ItemEnding | undefined): { status: Status; result: Json; error: Json } {
  const { outcome = 'failed', result = null, error = null } = ending ?? {}
  const isTimeout = (error as { code?: Json } | null)?.code === 'FP_TIMED_OUT'
  const status = isTimeout ? 'timed_out' : outcome === 'succeeded' || outcome === 'cancelled' ? outcome : 'failed'
  return { status, result, error }
}
