import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { type Expression, ExpressionError, type Scope } from './expression.js'
import { type Active, errorOf, itemsAtOnce, itemsTrouble, keyOf, newTaskRun, roomFor } from './active-task-run.js'
import { Joins } from './joins.js'
import { progressOf } from './progress.js'
import { type Ended, type Known, Missing, type Situation, type StartableWorkflow } from './situation.js'
import { reachableFrom } from './graph.js'
import type { Plan, TaskPlan } from './plan.js'
import type {
  Change,
  Ending,
  ItemJobs,
  Letter,
  NewRun,
  Progress,
  Run,
  RunState,
  Status,
  TaskRun,
  Trouble,
} from './run.js'
import type { Template } from './template.js'
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

/** Activations begun in one advance; more wait for the next, so that a tight cycle cannot hold a worker. */
const begunMax = 200
/** Letters whose ids are remembered: who repeats one does so soon. */
const heardMax = 100
/** And how long their inputs may be together: the change is one message to the database. */
const itemsBytesMax = 16 * 1_048_576

/** Decides what follows from what a run was told: pure, and the same for workers and for rehearsals. */
export function decide(situation: Situation): Change {
  return new Conductor(situation).decide()
}

class Conductor {
  readonly #run: Run
  readonly #plan: Plan
  readonly #known: Known
  readonly #letters: readonly Letter[]
  readonly #nowMs: number
  readonly #active: Active[]
  readonly #progress: Progress
  readonly #joins: Joins
  readonly #ended = new Map<string, Ended>()
  #vars: Record<string, Json>
  #state: RunState
  #error: Trouble | null
  #output: Json = null
  #begun = 0
  #bytes = 0
  #endings = 0
  readonly #isFaulty: boolean
  readonly #isLate: () => boolean
  readonly #change = {
    timers: [] as Change['timers'][number][],
    watch: [] as Change['watch'][number][],
    runs: [] as NewRun[],
    jobs: [] as ItemJobs[],
  }

  constructor({ run, plan, active, letters, nowMs, known, fault, isLate = () => false }: Situation) {
    this.#run = run
    this.#plan = plan
    this.#known = known
    this.#letters = letters
    this.#nowMs = nowMs
    this.#active = active.map((task) => ({ ...task, isNew: false, items: null, ended: false }))
    this.#progress = progressOf(run.progress)
    this.#joins = new Joins(plan, this.#progress.joins)
    this.#vars = { ...run.vars }
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
      for (const task of this.#active) if (!task.ended) this.#dispatch(task)
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

  /** What nothing waits for yet is kept. */
  #hear({ kind, task: name, ordinal, payload: { id, said } }: Extract<Letter, { kind: 'signal' | 'answer' }>): void {
    if (this.#progress.heard.includes(id)) return
    this.#progress.heard.splice(0, Math.max(0, this.#progress.heard.length - heardMax))
    this.#progress.heard.push(id)
    const isFor = (task: Active) =>
      kind === 'answer'
        ? task.task === name && task.ordinal === ordinal
        : task.action === 'wait.signal' && isNamed(task.input, name)
    const waits = this.#active.find((task) => !task.ended && task.state === 'waiting' && isFor(task))
    if (waits) this.#end(waits, 'succeeded', said, null)
    else if (kind === 'signal') this.#progress.signals.push({ name, payload: said })
    else if (this.#progress.ordinals[name] === undefined && ordinal === 1) this.#progress.answers[name] = said
  }

  #find(name: string | undefined, ordinal: number | undefined): Active | undefined {
    return this.#active.find((task) => !task.ended && task.task === name && task.ordinal === ordinal)
  }

  #start(): void {
    if (this.#state !== 'running') return // cancelled before it began, or it cannot begin
    this.#setDeadline()
    try {
      this.#vars = this.#plan.vars.evaluate({ parameters: this.#run.parameters, run: this.#runScope() }) as Record<
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
    if (!reopened) this.#activate(task, null)
    const later = reachableFrom(this.#plan.definition, [name])
    for (const { task: other, ordinal, status } of cutOff) {
      const plan = this.#plan.tasks.get(other)
      // What comes later comes again, and a list that was cut off goes on by itself.
      if (!plan || later.has(other) || this.#find(other, ordinal)) continue
      if (status === 'cancelled') this.#activate(plan, null)
      else {
        const error = this.#resultOf(other, ordinal).error as Trouble | null
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
      task.error = error
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
    if (this.#isSingle(task))
      this.#ended.set(keyOf(task), { result: task.ending?.result ?? null, error: task.error as Json })
    else if (task.failed > 0 && this.#itemsOf(task)?.onFailure === 'fail') task.stop ??= 'unstarted'
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
      const result = this.#isSingle(task) ? (this.#ended.get(keyOf(task))?.result ?? null) : undefined
      const mayFail = this.#itemsOf(task)?.onFailure === 'continue'
      if (isWhole && (task.failed === 0 || (mayFail && task.stop === null))) this.#end(task, 'succeeded', result, null)
      else if (task.error === null)
        this.#end(task, 'cancelled', result, { code: 'FP_CANCELLED', message: 'it was cancelled' })
      else if (this.#isSingle(task))
        this.#end(task, task.error.code === 'FP_TIMED_OUT' ? 'timed_out' : 'failed', result, task.error)
      else this.#end(task, 'failed', undefined, itemsTrouble(task))
    }
  }

  /** The end of a task run, and what follows. A result that is undefined is that of its items, looked up when needed. */
  #end(task: Active, status: Status, result: Json | undefined, error: Trouble | null): void {
    this.#endings++
    task.ended = true
    task.state = status
    task.error = error
    if (result !== undefined) {
      this.#ended.set(keyOf(task), { result, error: error as Json })
      if (!isJob(task.action) && !isRun(task.action)) task.result = result
      if (!this.#isSingle(task) && Array.isArray(result)) {
        const items = result.map((each) => ({ status: 'succeeded' as const, result: each, error: null }))
        this.#ended.set(keyOf(task), { result, error: null, items })
      }
    }
    this.#progress.latest[task.task] = { ordinal: task.ordinal, status }
    const plan = this.#plan.tasks.get(task.task)
    if (this.#state !== 'running') this.#progress.cutOff.push({ task: task.task, ordinal: task.ordinal, status })
    else if (plan) this.#follow(task, plan, status)
  }

  /** Fires the transitions. One whose expression fails makes the task a failed one, and is not taken. */
  #follow(task: Active, plan: TaskPlan, status: Status): void {
    let fired = this.#fired(task, plan, status, true)
    if (fired instanceof ExpressionError) {
      status = 'failed'
      task.state = status
      task.error = troubleOf(fired, `next of ${task.task}`)
      this.#progress.latest[task.task] = { ordinal: task.ordinal, status }
      fired = this.#fired(task, plan, status, false) as Fired
    }
    this.#vars = fired.vars
    const wasDealtWith = [...fired.do].some((target) => target !== 'continue' && target !== 'fail')
    if (fired.do.has('fail')) {
      this.#fail({
        ...task.error,
        code: 'FP_RUN_FAILED',
        message: `task ${task.task} says that the run fails${task.error ? `: ${task.error.message}` : ''}`,
        task: task.task,
      })
      return
    }
    if (status !== 'succeeded' && !wasDealtWith) {
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

  #fired(task: Active, plan: TaskPlan, status: Status, strict: boolean): Fired | ExpressionError {
    const targets = new Set<string>()
    let vars = this.#vars
    for (const { when, publish, do: targetsOf } of plan.next) {
      try {
        const scope = (uses: Uses): Scope => ({
          ...this.#scope(uses, vars),
          error: task.error as Json,
          status,
          ...(uses.usesResult && { result: this.#resultOf(task.task, task.ordinal).result }),
        })
        if (when && !when.test(scope(when))) continue
        vars = { ...vars, ...(publish.evaluate(scope(publish)) as Record<string, Json>) }
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        if (strict) return error
        continue
      }
      for (const target of targetsOf.length > 0 ? targetsOf : ['continue']) targets.add(target)
    }
    return { vars, do: targets }
  }

  #scope({ taskNames, usesAllTasks }: Uses, vars: Record<string, Json> = this.#vars): Scope {
    const names = usesAllTasks ? this.#plan.tasks.keys() : taskNames
    const tasks = Object.create(null) as Record<string, Json>
    for (const name of names) {
      const latest = this.#progress.latest[name]
      if (!latest) continue
      const { result, error, items } = this.#resultOf(name, latest.ordinal)
      tasks[name] = {
        status: latest.status,
        ordinal: latest.ordinal,
        result,
        error,
        ...(items && { items: items as unknown as Json }),
      }
    }
    return { parameters: this.#run.parameters, vars, tasks, run: this.#runScope() }
  }

  #runScope(): Json {
    const { id, workflow, version } = this.#run
    return { id, workflow, version }
  }

  #resultOf(task: string, ordinal: number): Ended {
    const ended = this.#ended.get(`${task}/${ordinal}`) ?? this.#known.result(task, ordinal)
    if (!ended) throw new Missing({ task, ordinal })
    const now = this.#active.find((each) => each.ended && each.task === task && each.ordinal === ordinal)
    return now ? { ...ended, error: now.error as Json } : ended
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
          const results = list.map((item, index) => {
            if (this.#isLate())
              throw new ActionFailure('its items take too long to tell; give them to a task', 'FP_ITEMS_TOO_COSTLY')
            return runInline(action, this.#input(plan, item, index))
          })
          task.dispatched = task.succeeded = list.length
          return this.#end(task, 'succeeded', results, null)
        }
        if (list.length === 0) return this.#end(task, 'succeeded', [], null)
      } else if (isInline(action)) {
        return this.#end(task, 'succeeded', runInline(action, this.#input(plan)), null)
      } else if (isWait(action)) {
        return this.#wait(task, waitOf(action, this.#input(plan), this.#nowMs), timeoutMs)
      }
      if (isRun(action) && timeoutMs !== null) this.#timer(task, 'timeout', timeoutMs)
    } catch (error) {
      if (error instanceof Missing) throw error
      this.#end(task, 'failed', null, troubleOf(error, `task ${task.task}`))
    }
  }

  #wait(task: Active, wait: Wait, timeoutMs: number | null): void {
    task.state = 'waiting'
    task.input = wait.input
    if (wait.name !== undefined) {
      const kept = this.#progress.signals.findIndex(({ name }) => name === wait.name)
      if (kept >= 0)
        return this.#end(task, 'succeeded', this.#progress.signals.splice(kept, 1)[0]?.payload ?? null, null)
    }
    if (wait.asks && task.task in this.#progress.answers) {
      const answer = this.#progress.answers[task.task] ?? null
      delete this.#progress.answers[task.task]
      return this.#end(task, 'succeeded', answer, null)
    }
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

  #timer(task: Active, kind: 'due' | 'timeout', ms: number): void {
    this.#change.timers.push({ task: task.task, ordinal: task.ordinal, kind, ms })
  }

  #input(plan: TaskPlan, item?: Json, index?: number): Json {
    const scope = this.#scope(plan.input)
    return plan.input.evaluate(index === undefined ? scope : { ...scope, item: item as Json, index })
  }

  /** Makes the next items of a task run. */
  #dispatch(task: Active): void {
    const plan = this.#plan.tasks.get(task.task)
    if (!plan || this.#isMade(task)) return
    const { items } = plan.definition
    const from = task.dispatched
    const slice: readonly (Json | undefined)[] = items ? (task.slice ?? []).slice(0, roomFor(task)) : [undefined]
    const inputs: Json[] = []
    let unmade = false
    try {
      for (const item of slice) {
        const input = items ? this.#input(plan, item, from + inputs.length) : this.#input(plan)
        this.#bytes += JSON.stringify(input).length
        if (this.#bytes > itemsBytesMax && inputs.length > 0) break
        inputs.push(input)
        if (this.#isLate()) break
      }
    } catch (error) {
      if (error instanceof Missing) throw error
      task.error = troubleOf(error, `input of ${task.task}`)
      unmade = true
    }
    task.slice = task.slice?.slice(inputs.length) ?? null
    if (inputs.length > 0) {
      if (isRun(task.action)) this.#makeRuns(task, from, inputs)
      else this.#makeJobs(task, plan, from, inputs)
    }
    if (unmade) this.#endUnmade(task)
  }

  /** An input that cannot be told: what was made before it is let end, then the task has failed. */
  #endUnmade(task: Active): void {
    task.stop = 'unstarted'
    if (task.dispatched > task.succeeded + task.failed) return
    task.total = task.dispatched
    this.#end(task, 'failed', this.#isSingle(task) ? null : undefined, task.error)
  }

  /** There is nothing to make of it now. */
  #isMade(task: Active): boolean {
    return (
      task.ended ||
      task.state !== 'running' ||
      task.stop !== null ||
      task.dispatched === task.total ||
      roomFor(task) === 0
    )
  }

  #makeJobs(task: Active, plan: TaskPlan, from: number, inputs: readonly Json[]): void {
    const { retry, timeoutMs, delayMs, action } = plan.definition
    const concurrency = task.concurrency !== null && task.concurrency < task.total ? task.concurrency : null
    const halt = concurrency !== null && plan.definition.items?.onFailure === 'fail'
    const policy =
      retry === null && timeoutMs === null && !halt
        ? null
        : {
            ...(halt && { halt }),
            ...(timeoutMs !== null && { timeoutMs }),
            ...(retry && {
              retry: {
                limit: retry.count,
                delayMs: retry.delayMs,
                delayMsMax: retry.maxDelayMs,
                backoff: retry.backoff,
                ...(retry.when !== null && { when: retry.when }),
              },
            }),
          }
    task.dispatched += inputs.length
    this.#change.jobs.push({
      task: task.task,
      ordinal: task.ordinal,
      action,
      from,
      inputs,
      delayMs,
      failuresMax: retry?.count ?? null,
      policy,
      concurrency,
    })
  }

  #makeRuns(task: Active, from: number, inputs: readonly Json[]): void {
    const name = task.action.slice('workflow.'.length)
    const workflow = this.#known.workflow(name)
    if (workflow === undefined) throw new Missing({ workflow: name })
    for (const [index, input] of inputs.entries()) {
      const checked = workflow?.check(input) ?? { problem: `there is no workflow ${name}` }
      if ('problem' in checked) {
        task.error = { code: 'FP_WORKFLOW_PARAMETERS', message: checked.problem }
        task.stop = 'unstarted'
        break
      }
      const { version, needs } = workflow as StartableWorkflow
      this.#change.runs.push({
        task: task.task,
        ordinal: task.ordinal,
        item: from + index,
        workflow: name,
        version,
        needs,
        parameters: checked.parameters,
      })
      task.dispatched++
    }
    if (task.stop !== null && inputs.length > 0) this.#endUnmade(task)
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
    try {
      this.#output = this.#plan.output.evaluate(this.#scope(this.#plan.output))
    } catch (error) {
      if (error instanceof Missing) throw error
      if (this.#state !== 'succeeded') this.#output = this.#partialOutput()
      else {
        this.#state = 'failed'
        this.#error = troubleOf(error, 'output')
      }
    }
  }

  /** Of a run that did not succeed: what can be told. */
  #partialOutput(): Json {
    if (Object.keys(this.#plan.outputs).length === 0) return null
    return Object.fromEntries(
      Object.entries(this.#plan.outputs).map(([name, template]) => {
        try {
          return [name, template.evaluate(this.#scope(template))]
        } catch (error) {
          if (error instanceof Missing) throw error
          return [name, null]
        }
      }),
    )
  }

  #toChange(): Change {
    const plain = ({ slice: _slice, ending: _ending, isNew: _isNew, ...task }: Active) => ({
      ...task,
      items: isInline(task.action) ? null : task.items,
    })
    const isOver = ['succeeded', 'failed', 'cancelled'].includes(this.#state)
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
      more: !isOver && this.#active.some((task) => !this.#isMade(task)),
    }
  }
}

type Uses = Pick<Expression & Template, 'taskNames' | 'usesAllTasks' | 'usesResult'>

interface Fired {
  readonly vars: Record<string, Json>
  readonly do: Set<string>
}

function isNamed(input: Json, name: string): boolean {
  return (input as { name?: Json } | null)?.name === name
}
