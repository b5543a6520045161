import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { type Active, errorOf, isMade, itemsAtOnce, itemsTrouble, newTaskRun } from './active-task-run.js'
import {
  ActionFailure,
  concurrencyOf,
  isInline,
  isJob,
  isRun,
  isWait,
  listOf,
  runInline,
  troubleOf,
  type Wait,
  waitOf,
} from './built-in-actions.js'
import { ExpressionError, type Scope } from './expression.js'
import { type Fired, transitionsOf } from './fired-transitions.js'
import { reachableFrom } from './graph.js'
import { ItemMaker } from './item-maker.js'
import { Joins } from './joins.js'
import { Mailbox, type Message } from './mailbox.js'
import { Outlook, type Uses } from './outlook.js'
import type { Plan, TaskPlan } from './plan.js'
import { progressOf } from './progress.js'
import type { Change, Ending, Letter, Progress, Run, RunState, Status, TaskRun, Trouble } from './run.js'
import { runOutput } from './run-output.js'
import type { Ended, Situation } from './situation.js'

/** Activations begun in one advance; more wait for the next, so that a tight cycle cannot hold a worker. */
const begunMax = 200
/** Decides what follows from what a run was told: pure, and the same for workers and for rehearsals. */
export function decide(situation: Situation): Change {
  return new Conductor(situation).decide()
}

class Conductor {
  readonly #run: Run
  readonly #plan: Plan
  readonly #letters: readonly Letter[]
  readonly #nowMs: number
  readonly #active: Active[]
  readonly #progress: Progress
  readonly #joins: Joins
  readonly #mailbox: Mailbox
  readonly #outlook: Outlook
  readonly #items: ItemMaker
  #vars: Readonly<Record<string, Json>>
  #state: RunState
  #error: Trouble | null
  #output: Json = null
  #begun = 0
  #endings = 0
  readonly #isFaulty: boolean
  readonly #isLate: () => boolean
  readonly #change = {
    timers: [] as Change['timers'][number][],
    watch: [] as Change['watch'][number][],
  }

  constructor(situation: Situation) {
    const { run, plan, active, letters, nowMs, fault, isLate = () => false } = situation
    this.#run = run
    this.#plan = plan
    this.#letters = letters
    this.#nowMs = nowMs
    this.#active = active.map((task) => ({ ...task, isNew: false, items: null, ended: false }))
    this.#progress = progressOf(run.progress)
    this.#joins = new Joins(plan, this.#progress.joins)
    this.#mailbox = new Mailbox(this.#progress)
    this.#outlook = new Outlook(situation, this.#progress.latest)
    this.#items = new ItemMaker(situation, this.#progress, isLate)
    this.#vars = run.vars
    this.#state = run.state
    this.#error = run.error
    this.#isFaulty = fault !== undefined
    this.#isLate = isLate
    if (fault) this.#fail(fault)
  }

  decide(): Change {
    for (const letter of this.#letters) this.#read(letter)
    let endings: number
    do {
      this.#endWhatIsDone()
      if (this.#state === 'running') this.#failUnmeetableJoins()
      if (this.#state !== 'running') this.#stopAll()
      this.#endWhatIsDone()
      endings = this.#endings
      for (const task of this.#active) this.#dispatch(task)
      // What could not be made has ended at once, and something may follow from that.
    } while (this.#endings > endings)
    if (this.#active.every(({ ended }) => ended)) this.#endRun()
    return this.#toChange()
  }

  #read(letter: Letter): void {
    switch (letter.kind) {
      case 'start':
        return this.#start()
      case 'item': {
        // Layer 1: an item of a task run that has ended, or that this run does not have, changes nothing.
        const task = this.#find(letter.task, letter.ordinal)
        if (task) this.#count(task, letter.item, letter.payload, letter.ids.length)
        return
      }
      case 'timer': {
        if (letter.payload === 'deadline') return this.#overdue()
        const task = this.#find(letter.task, letter.ordinal)
        if (task) this.#ring(task, letter.payload)
        return
      }
      case 'signal':
      case 'answer':
        return this.#hear(letter)
      case 'watched': {
        const task = this.#find(letter.task, letter.ordinal)
        if (task) this.#endWatch(task, letter.payload)
        return
      }
      case 'rerun':
        return this.#rerun(letter.task, letter.payload)
    }
  }

  #hear(message: Message): void {
    if (!this.#mailbox.hear(message)) return
    const waits = this.#active.find((task) => task.state === 'waiting' && isFor(message, task))
    if (waits) this.#end(waits, 'succeeded', message.payload.said, null)
    else this.#mailbox.keep(message)
  }

  #find(name: string | undefined, ordinal: number | undefined): Active | undefined {
    return this.#active.find((task) => !task.ended && task.task === name && task.ordinal === ordinal)
  }

  #start(): void {
    if (this.#state !== 'running') return // cancelled before it began, or it cannot begin
    this.#setDeadline()
    try {
      this.#vars = this.#plan.vars.evaluate({ parameters: this.#run.parameters, run: this.#outlook.run }) as Record<
        string,
        Json
      >
    } catch (error) {
      return this.#fail(troubleOf(error, 'vars'))
    }
    for (const task of this.#plan.starts) this.#activate(task, null)
  }

  /** Takes the run up again from this task: what follows from it is as if it had not been. */
  #rerun(name: string, reopened: boolean): void {
    const cutOff = this.#progress.cutOff
    this.#progress.cutOff = []
    this.#joins.forget(name)
    const task = this.#plan.tasks.get(name)
    if (!task || this.#state !== 'running') return
    this.#setDeadline()
    for (const list of this.#active) if (!list.isNew) this.#setTimeout(list)
    if (!reopened) this.#activate(task, null)
    const later = reachableFrom(this.#plan.definition, [name])
    for (const { task: other, ordinal, status } of cutOff) {
      const plan = this.#plan.tasks.get(other)
      // What comes later comes again, and a list that was cut off goes on by itself.
      if (!plan || later.has(other) || this.#find(other, ordinal)) continue
      if (status === 'cancelled') this.#activate(plan, null)
      else {
        const error = this.#outlook.resultOf(other, ordinal).error as Trouble | null
        this.#follow({ ...newTaskRun(plan, ordinal, null), state: status, error, ended: true }, plan, status)
      }
    }
  }

  #setDeadline(): void {
    const { timeoutMs } = this.#plan.definition
    if (timeoutMs !== null) this.#change.timers.push({ task: null, ordinal: null, kind: 'deadline', ms: timeoutMs })
  }

  #overdue(): void {
    if (this.#state !== 'running' && this.#state !== 'failing') return
    this.#fail({ code: 'FP_RUN_TIMED_OUT', message: `the run took longer than its timeout` })
    for (const task of this.#active) if (!task.ended) task.stop = 'all'
  }

  #ring(task: Active, kind: 'delay' | 'due' | 'timeout' | 'watch'): void {
    if (kind === 'delay' && task.state === 'delayed') {
      const plan = this.#plan.tasks.get(task.task)
      if (plan && this.#state === 'running') this.#begin(task, plan)
    } else if (kind === 'due') {
      if (isWait(task.action) && task.action !== 'wait.time' && task.action !== 'core.sleep') {
        this.#end(task, 'timed_out', null, { code: 'FP_NOT_ANSWERED', message: 'nobody answered in time' })
      } else this.#end(task, 'succeeded', null, null)
    } else if (kind === 'timeout') {
      const error = {
        code: 'FP_TIMED_OUT',
        message: `timed out after ${this.#plan.tasks.get(task.task)?.definition.timeoutMs} ms`,
      }
      if (!isRun(task.action)) return this.#end(task, 'timed_out', null, error)
      task.stop = 'all'
      // A list one of whose items has failed has failed, unless it may.
      if (task.error === null || this.#itemsOf(task)?.onFailure !== 'fail') task.error = error
    } else if (kind === 'watch') {
      this.#change.watch.push({ task: task.task, ordinal: task.ordinal, run: (task.input as { run: string }).run })
    }
  }

  #count(task: Active, item: number, ending: Ending, count: number): void {
    if (ending.outcome === 'succeeded') task.succeeded += count
    else {
      task.failed++
      // One that was cancelled because the task stops is not what went wrong.
      if (ending.outcome !== 'cancelled')
        task.error ??= errorOf(ending, task.ending?.error ?? null, this.#isSingle(task) ? null : item)
    }
    if (!this.#isSingle(task) && task.failed > 0 && this.#itemsOf(task)?.onFailure === 'fail') task.stop ??= 'unstarted'
  }

  #isSingle(task: TaskRun): boolean {
    return this.#itemsOf(task) === null
  }

  #itemsOf(task: TaskRun) {
    return this.#plan.tasks.get(task.task)?.definition.items ?? null
  }

  #endWatch(task: Active, ending: Ending & { run: string }): void {
    const { outcome, run } = ending
    if (outcome === 'succeeded') return this.#end(task, 'succeeded', { run, state: outcome }, null)
    const message = outcome === 'missing' ? `there is no run ${run}` : `run ${run} ended as ${outcome}`
    this.#end(task, 'failed', null, { code: 'FP_RUN_FAILED', message })
  }

  /** Ends the task runs all of whose items have ended. */
  #endWhatIsDone(): void {
    for (const task of this.#active) {
      if (task.ended || task.state !== 'running' || task.succeeded + task.failed < task.dispatched) continue
      const isWhole = task.dispatched === task.total
      if (!isWhole && task.stop === null) continue
      task.total = task.dispatched
      const result = this.#isSingle(task) ? (task.ending?.result ?? null) : undefined
      const mayFail = this.#itemsOf(task)?.onFailure === 'continue'
      if (isWhole && (task.failed === 0 || (mayFail && task.stop === null))) this.#end(task, 'succeeded', result, null)
      else if (task.error === null)
        this.#end(task, 'cancelled', result, { code: 'FP_CANCELLED', message: 'it was cancelled' })
      else if (task.error.code === 'FP_TIMED_OUT' && task.error['item'] === undefined)
        this.#end(task, 'timed_out', result, task.error)
      else if (this.#isSingle(task)) this.#end(task, 'failed', result, task.error)
      else this.#end(task, 'failed', undefined, itemsTrouble(task))
    }
  }

  /** The end of a task run, and what follows. A result that is undefined is that of its items, looked up when needed. */
  #end(task: Active, status: Status, result: Json | undefined, error: Trouble | null): void {
    this.#endings++
    task.ended = true
    task.state = status
    task.error = error
    if (result !== undefined && !isJob(task.action) && !isRun(task.action)) task.result = result
    this.#outlook.note(task, result === undefined ? undefined : endedWith(result, !this.#isSingle(task)))
    this.#progress.latest[task.task] = { ordinal: task.ordinal, status }
    const plan = this.#plan.tasks.get(task.task)
    if (this.#state !== 'running') this.#progress.cutOff.push({ task: task.task, ordinal: task.ordinal, status })
    else if (plan) this.#follow(task, plan, status)
  }

  /** Fires the transitions. One whose expression fails makes the task a failed one, and is not taken. */
  #follow(task: Active, plan: TaskPlan, status: Status): void {
    let fired = transitionsOf(plan, task, status, this.#outlook, this.#vars, true)
    if (fired instanceof ExpressionError) {
      status = 'failed'
      task.state = status
      task.error = troubleOf(fired, `next of ${task.task}`)
      this.#progress.latest[task.task] = { ordinal: task.ordinal, status }
      fired = transitionsOf(plan, task, status, this.#outlook, this.#vars, false) as Fired
    }
    this.#vars = fired.vars
    if (fired.do.has('fail')) {
      this.#fail({
        ...task.error,
        code: 'FP_RUN_FAILED',
        message: `task ${task.task} says that the run fails${task.error ? `: ${task.error.message}` : ''}`,
        task: task.task,
      })
      return
    }
    if (status !== 'succeeded' && [...fired.do].every((target) => target === 'continue')) {
      const why = task.error?.message ?? status
      this.#fail({
        ...task.error,
        message: `task ${task.task} ${status === 'timed_out' ? 'timed out' : status}: ${why}`,
        task: task.task,
      })
      return
    }
    for (const target of fired.do) {
      const next = this.#plan.tasks.get(target === 'retry' ? task.task : target)
      if (!next) continue
      if (target === 'retry' || next.definition.join === null || this.#joins.arrive(task.task, next))
        this.#activate(next, task)
    }
  }

  #activate(plan: TaskPlan, from: TaskRun | null): void {
    const { name, definition } = plan
    const ordinal = (this.#progress.ordinals[name] ?? 0) + 1
    this.#progress.ordinals[name] = ordinal
    const all = Object.values(this.#progress.ordinals).reduce((sum, count) => sum + count, 0)
    if (all > limits.activationsMax) {
      return this.#fail({
        code: 'FP_RUN_TOO_LONG',
        message: `the run has begun more than ${limits.activationsMax} tasks: is there a cycle that never ends?`,
      })
    }
    const task = newTaskRun(plan, ordinal, from)
    this.#active.push(task)
    const delayMs = isJob(definition.action) ? 0 : definition.delayMs // a job has a delay of its own
    this.#begun++
    if (delayMs > 0 || this.#begun > begunMax || (this.#begun > 1 && this.#isLate())) {
      task.state = 'delayed'
      this.#change.timers.push({ task: name, ordinal, kind: 'delay', ms: delayMs })
    } else this.#begin(task, plan)
  }

  /** The action begins, or ends at once if it needs nobody. */
  #begin(task: Active, plan: TaskPlan): void {
    task.state = 'running'
    const { action, items, timeoutMs } = plan.definition
    try {
      if (items) {
        const list = listOf(plan.items?.evaluate(this.#scope(plan.items)) ?? null, items)
        task.items = list
        task.slice = list.slice(0, itemsAtOnce)
        task.total = list.length
        const concurrency = plan.concurrency
          ? concurrencyOf(plan.concurrency.evaluate(this.#scope(plan.concurrency)))
          : items.concurrency
        task.concurrency = concurrency as number | null
        if (isInline(action)) {
          const inputOf = this.#inputOf(plan)
          const results = list.map((item, index) => {
            if (this.#isLate())
              throw new ActionFailure('its items take too long to tell; give them to a task', 'FP_ITEMS_TOO_COSTLY')
            return runInline(action, inputOf(item, index))
          })
          task.dispatched = task.succeeded = list.length
          return this.#end(task, 'succeeded', results, null)
        }
        if (list.length === 0) return this.#end(task, 'succeeded', [], null)
      } else if (isInline(action)) {
        return this.#end(task, 'succeeded', runInline(action, this.#inputOf(plan)(undefined, 0)), null)
      } else if (isWait(action)) {
        return this.#wait(task, waitOf(action, this.#inputOf(plan)(undefined, 0), this.#nowMs), timeoutMs)
      }
      this.#setTimeout(task)
    } catch (error) {
      this.#end(task, 'failed', null, troubleOf(error, `task ${task.task}`))
    }
  }

  #wait(task: Active, wait: Wait, timeoutMs: number | null): void {
    task.state = 'waiting'
    task.input = wait.input
    const early = wait.name === undefined ? undefined : this.#mailbox.takeSignal(wait.name)
    const kept = wait.asks ? this.#mailbox.takeAnswer(task.task) : early
    if (kept) return this.#end(task, 'succeeded', kept.said, null)
    if (wait.run === this.#run.id) throw new ActionFailure('a run cannot wait for its own end', 'FP_INPUT_INVALID')
    if (wait.run !== undefined) this.#change.watch.push({ task: task.task, ordinal: task.ordinal, run: wait.run })
    if (wait.at !== undefined) {
      this.#change.timers.push({
        task: task.task,
        ordinal: task.ordinal,
        kind: 'due',
        at: new Date(wait.at).toISOString(),
      })
    }
    if (wait.ms !== undefined) this.#timer(task, 'due', wait.ms)
    if (timeoutMs !== null) this.#timer(task, 'timeout', timeoutMs)
  }

  /** A job is timed by its worker, a wait where it begins. */
  #setTimeout(task: Active): void {
    const timeoutMs = this.#plan.tasks.get(task.task)?.definition.timeoutMs ?? null
    if (isRun(task.action) && timeoutMs !== null) this.#timer(task, 'timeout', timeoutMs)
  }

  #timer(task: Active, kind: 'due' | 'timeout', ms: number): void {
    this.#change.timers.push({ task: task.task, ordinal: task.ordinal, kind, ms })
  }

  /** What they see is the same for all items, and may be long: it is gathered once. */
  #inputOf({ input, definition }: TaskPlan): (item: Json | undefined, index: number) => Json {
    const scope = this.#scope(input)
    return definition.items
      ? (item = null, index) => input.evaluate({ ...scope, item, index })
      : () => input.evaluate(scope)
  }

  #scope(uses: Uses): Scope {
    return this.#outlook.scope(uses, this.#vars)
  }

  /** Makes the next items of a task run. What cannot be made: what was made before it is let end, then the task has failed. */
  #dispatch(task: Active): void {
    const plan = this.#plan.tasks.get(task.task)
    if (!plan || isMade(task)) return
    const trouble = this.#items.make(task, plan, this.#inputOf(plan))
    if (!trouble) return
    task.error = trouble
    task.stop = 'unstarted'
    if (task.dispatched > task.succeeded + task.failed) return
    task.total = task.dispatched
    this.#end(task, 'failed', this.#isSingle(task) ? null : undefined, trouble)
  }

  #fail(error: Trouble): void {
    if (this.#state !== 'running') return
    this.#state = 'failing'
    this.#error = error
  }

  /** Nothing more begins. What runs is let end, unless it is to be cancelled; what waits for somebody ends now. */
  #stopAll(): void {
    const stop = this.#state === 'cancelling' && this.#run.cancelMode === 'cancel_running' ? 'all' : 'unstarted'
    for (const task of this.#active) {
      if (task.ended) continue
      if (task.stop !== 'all') task.stop = stop
      if (task.state !== 'running')
        this.#end(task, 'cancelled', null, { code: 'FP_RUN_STOPPED', message: 'the run stops' })
    }
  }

  /**
   * A join whose missing edges can no longer fire would wait for ever. Not before everything else has ended: what else a run
   * does must not depend on which branch was first.
   */
  #failUnmeetableJoins(): void {
    if (this.#active.some(({ ended }) => !ended)) return
    const missing = this.#joins.unmeetable()
    if (missing) this.#fail(missing)
  }

  #endRun(): void {
    if (this.#state === 'running') this.#state = 'succeeded'
    else if (this.#state === 'failing') this.#state = 'failed'
    else if (this.#state === 'cancelling') this.#state = 'cancelled'
    else return
    if (this.#isFaulty) return // its output may be what could not be stored
    const told = runOutput(this.#plan, (uses) => this.#scope(uses), this.#state !== 'succeeded')
    if ('output' in told) this.#output = told.output
    else {
      this.#state = 'failed'
      this.#error = told.trouble
    }
  }

  #toChange(): Change {
    const plain = ({ slice: _slice, ending: _ending, isNew: _isNew, ...task }: Active) => ({
      ...task,
      items: isInline(task.action) ? null : task.items,
    })
    return {
      run: this.#run.id,
      revision: this.#run.revision,
      read: this.#letters.flatMap(({ ids }) => ids),
      state: this.#state,
      vars: this.#vars,
      progress: this.#progress,
      output: this.#output,
      error: this.#error,
      begin: this.#active.filter(({ isNew }) => isNew).map(plain),
      update: this.#active.filter(({ isNew }) => !isNew).map(plain),
      ...this.#change,
      runs: this.#items.runs,
      jobs: this.#items.jobs,
      more: this.#active.some((task) => !isMade(task)),
    }
  }
}

function isFor({ kind, task: name, ordinal }: Message, task: TaskRun): boolean {
  if (kind === 'answer') return task.task === name && task.ordinal === ordinal
  return task.action === 'wait.signal' && (task.input as { name?: Json } | null)?.name === name
}

/** Of a list whose items needed nobody, or were none, each has succeeded. */
function endedWith(result: Json, isList: boolean): Ended {
  if (!isList || !Array.isArray(result)) return { result, error: null }
  return { result, error: null, items: result.map((each) => ({ status: 'succeeded', result: each, error: null })) }
}
