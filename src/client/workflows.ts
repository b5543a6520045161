import { createHash } from 'node:crypto'
import { FencepostError, shown } from '../errors.js'
import { checkedJobId, newJobId } from '../job/job-id.js'
import { type Json, jsonText } from '../job/json.js'
import type { Database, Queryable } from '../store/database.js'
import {
  actionCard,
  cancelRun,
  type ListRunsOptions,
  listRuns,
  listWorkflows,
  pauseRun,
  putActions,
  putWorkflow,
  type RunDetail,
  type RunView,
  readActions,
  readRun,
  readTaskRunResult,
  readWorkflow,
  rerun,
  resumeRun,
  type StoredWorkflow,
  startRun,
  type TaskRunResult,
  type TellAnswer,
  tellRun,
  type WorkflowView,
} from '../store/runs.js'
import { nearestName } from '../task/nearest-name.js'
import { checkedInteger, checkedName, checkOptionNames } from '../task/options.js'
import { checkedWorkflow, type Deployable } from '../workflow/checked-workflow.js'
import type { Definition, Parameter } from '../workflow/definition.js'
import { reachableFrom } from '../workflow/graph.js'
import { checkedValues, parametersOrThrow } from '../workflow/parameters.js'
import { runStates, type RunState } from '../workflow/run.js'
import { jobActions, neededTasks } from '../workflow/startable.js'
import type { Duration } from '../task/duration.js'
import { checkCallOptions } from './transaction-check.js'

export interface StartOptions {
  /** A UUID of your own: starting the same run again under it is safe and does nothing. */
  readonly id?: string
  /** A connection in a transaction of yours: the run exists if and only if that transaction commits. */
  readonly tx?: Queryable
}

export interface StartedRun {
  readonly id: string
  /** `existing`: a run with this id was there already; it was not touched. */
  readonly answer: 'started' | 'existing'
  /** Its output, or an error that tells how it ended. */
  result(options?: { timeout?: Duration }): Promise<Json>
}

interface Tx {
  readonly tx?: Queryable
}

/** Workflows and their runs: `fp.workflows`. */
export class Workflows {
  readonly #db: Database
  readonly #bytesMax: number
  readonly #result: StartedRun['result'] extends (options?: infer O) => unknown
    ? (id: string, options?: O) => Promise<Json>
    : never
  readonly #deployed = new WeakMap<object, Promise<number>>()

  constructor(db: Database, bytesMax: number, result: (id: string, options?: { timeout?: Duration }) => Promise<Json>) {
    this.#db = db
    this.#bytesMax = bytesMax
    this.#result = result
  }

  /** Stores a workflow, with those it uses. The same definition is the same version; answers that. */
  async deploy<Parameters>(workflow: Deployable<Parameters>): Promise<number> {
    const { definition, tasks = [], workflows = [] } = checkedWorkflow(workflow)
    await putActions(this.#db, tasks.map(actionCard))
    for (const used of workflows) await this.deploy(used)
    const digest = createHash('sha256').update(JSON.stringify(definition)).digest('hex')
    return putWorkflow(this.#db, definition, digest)
  }

  /** Starts a run: of this workflow, which is deployed first, or of the one that was deployed last under this name. */
  async start<Parameters>(
    workflow: Deployable<Parameters> | string,
    parameters: NoInfer<Parameters>,
    options: StartOptions = {},
  ): Promise<StartedRun> {
    checkCallOptions(options, ['id'], 'start()')
    const { id, tx } = options
    const { name, version, definition } =
      typeof workflow === 'string' ? await this.newest(workflow) : await this.#deployOnce(workflow)
    const values = parametersOrThrow(definition, parameters, this.#bytesMax)
    const runId = id === undefined ? newJobId() : checkedJobId(id)
    const needs = await this.#needs(definition)
    const parametersText = jsonText(values, 'the parameters', this.#bytesMax)
    const answer = await startRun(this.#db, { id: runId, workflow: name, version, parametersText, needs }, tx)
    return { id: runId, answer, result: (waiting) => this.#result(runId, waiting) }
  }

  /** A run: its state, its task runs in the order in which they began, its timers. */
  async run(id: string): Promise<RunDetail> {
    const found = await readRun(this.#db, checkedJobId(id))
    if (!found) throw new FencepostError('FP_RUN_UNKNOWN', id)
    return found
  }

  /** What a task of a run came to; the last time, if it was activated more than once. */
  async taskResult(id: string, task: string, ordinal?: number): Promise<TaskRunResult> {
    checkedName(task, 'task')
    const { taskRuns } = await this.run(id)
    const all = taskRuns.filter((each) => each.task === task && (ordinal === undefined || each.ordinal === ordinal))
    const last = all.at(-1)
    if (!last)
      throw unknownTask(
        task,
        taskRuns.map((each) => each.task),
      )
    return readTaskRunResult(this.#db, id, task, last.ordinal)
  }

  /** The newest first. */
  runs(options: ListRunsOptions = {}): Promise<RunView[]> {
    checkOptionNames(options, ['workflow', 'state', 'limit'], 'runs()')
    if (options.state !== undefined && !runStates.includes(options.state)) {
      throw new FencepostError(
        'FP_OPTION_INVALID',
        `state must be ${runStates.join(', ')}, not ${shown(options.state)}`,
      )
    }
    if (options.workflow !== undefined) checkedName(options.workflow, 'workflow')
    if (options.limit !== undefined) checkedInteger(options.limit, 'limit', 1, 10_000)
    return listRuns(this.#db, options)
  }

  /** The newest version of each workflow. */
  list(): Promise<WorkflowView[]> {
    return listWorkflows(this.#db)
  }

  /** Begins no more tasks, and no more items of those with a `concurrency`; what runs goes on. */
  async pause(id: string, options: Tx = {}): Promise<{ answer: 'paused' | 'already' }> {
    checkCallOptions(options, [], 'pause()')
    return this.#controlled(id, await pauseRun(this.#db, checkedJobId(id), options.tx), ['paused', 'already'])
  }

  async resume(id: string, options: Tx = {}): Promise<{ answer: 'resumed' | 'already' }> {
    checkCallOptions(options, [], 'resume()')
    return this.#controlled(id, await resumeRun(this.#db, checkedJobId(id), options.tx), ['resumed', 'already'])
  }

  /**
   * Begins nothing more. What runs is asked to stop, or, with `allow_finish`, let end. When the answer is there, nothing
   * is begun any more; the run is `cancelled` when all that runs has ended.
   */
  async cancel(
    id: string,
    options: { mode?: 'allow_finish' | 'cancel_running'; reason?: string } & Tx = {},
  ): Promise<{ answer: 'cancelling' | 'already' | 'ended'; state: RunState | null }> {
    checkCallOptions(options, ['mode', 'reason'], 'cancel()')
    const { mode = 'cancel_running', reason, tx } = options
    if (reason !== undefined) checkedName(reason, 'reason')
    if (mode !== 'allow_finish' && mode !== 'cancel_running') {
      throw new FencepostError('FP_OPTION_INVALID', `mode must be allow_finish or cancel_running, not ${shown(mode)}`)
    }
    const controlled = await cancelRun(this.#db, checkedJobId(id), mode, reason, tx)
    return this.#controlled(id, controlled, ['cancelling', 'already', 'ended'])
  }

  /**
   * Takes a run that has ended up again from one of its tasks: items that did not succeed are tried again, or, with
   * `reset`, all of them anew. What follows from the task follows again.
   */
  async rerun(id: string, options: { from: string; reset?: boolean } & Tx): Promise<void> {
    checkCallOptions(options, ['from', 'reset'], 'rerun()')
    const { from, reset = false, tx } = options
    const task = checkedName(from, 'from')
    const { definition } = await this.run(id)
    const later = [...reachableFrom(definition, [task])]
    const { answer, state } = await rerun(this.#db, id, task, { reset, later }, tx)
    if (answer === 'never_reached') {
      const { taskRuns } = await this.run(id)
      throw unknownTask(task, [...new Set(taskRuns.map((each) => each.task))])
    }
    if (answer !== 'rerunning') {
      const why = answer === 'item_of' ? 'it is an item of another run, which is to be rerun' : `it is ${state}`
      throw new FencepostError('FP_RUN_STATE', `run ${id} cannot be rerun: ${why}`)
    }
  }

  /** Sends a signal that a `wait_for` of the run waits for, now or later. */
  async signal(id: string, name: string, payload: unknown = null, options: Tx = {}): Promise<void> {
    checkCallOptions(options, [], 'signal()')
    const letter = {
      kind: 'signal' as const,
      name: checkedName(name, 'name'),
      payloadText: jsonText(payload, 'the payload', this.#bytesMax),
    }
    this.#told(id, await tellRun(this.#db, checkedJobId(id), letter, options.tx))
  }

  /** Answers the question of a task; an answer to one that is not asked yet is kept. */
  async answer(id: string, task: string, answer: Record<string, unknown> = {}, options: Tx = {}): Promise<void> {
    checkCallOptions(options, [], 'answer()')
    checkedName(task, 'task')
    const { definition, taskRuns, endedAt } = await this.run(id)
    if (endedAt !== null) this.#told(id, 'ended')
    const asks = definition.tasks.filter(({ action }) => action === 'core.ask' || action === 'wait.approval')
    const question = asks.find(({ name }) => name === task)
    if (!question)
      throw unknownTask(
        task,
        asks.map(({ name }) => name),
        'asks nothing',
      )
    // Of a question that is asked again and again, the one that is asked now: a second click must not answer the next.
    const asked = taskRuns.filter((each) => each.task === task)
    const waiting = asked.find(({ state }) => state === 'waiting')
    if (asked.length > 0 && !waiting)
      throw new FencepostError('FP_RUN_STATE', `task ${task} of run ${id} does not ask now`)
    // As it was asked; before it is, as it is defined. One that is an expression is checked when it is asked.
    const { form } = (waiting?.input ?? question.input ?? {}) as { form?: Record<string, Parameter> | string }
    const checked =
      typeof form === 'string'
        ? { values: answer as Record<string, Json> }
        : checkedValues(form ?? {}, answer, 'field', this.#bytesMax)
    if ('problems' in checked) {
      const texts = checked.problems.map(({ message, hint }) => (hint ? `${message} (${hint})` : message))
      throw new FencepostError('FP_ANSWER_INVALID', texts.join('; '))
    }
    const letter = {
      kind: 'answer' as const,
      name: task,
      payloadText: JSON.stringify(checked.values),
      ordinal: waiting?.ordinal ?? 1,
    }
    this.#told(id, await tellRun(this.#db, id, letter, options.tx))
  }

  /** The version of a workflow that was deployed last. */
  async newest(name: string): Promise<StoredWorkflow> {
    const found = await readWorkflow(this.#db, checkedName(name, 'the workflow'))
    if (found) return found
    const nearest = nearestName(
      name,
      (await this.list()).map((each) => each.name),
    )
    throw new FencepostError(
      'FP_WORKFLOW_UNKNOWN',
      name,
      nearest === undefined ? {} : { hint: `Did you mean ${nearest}?` },
    )
  }

  async #deployOnce<Parameters>(workflow: Deployable<Parameters>): Promise<StoredWorkflow> {
    const { definition } = checkedWorkflow(workflow)
    const deployed = this.#deployed.get(workflow) ?? this.deploy(workflow)
    this.#deployed.set(workflow, deployed)
    try {
      return { name: definition.name, version: await deployed, definition }
    } catch (error) {
      this.#deployed.delete(workflow)
      throw error
    }
  }

  /** A task that no process has ever registered would wait for ever, in a queue that nobody knows. */
  async #needs(definition: Definition): Promise<string[]> {
    const actions = await readActions(this.#db)
    const unknown = jobActions(definition).filter((action) => !actions.has(action))
    if (unknown.length === 0) return neededTasks(definition, actions)
    const nearest = nearestName(unknown[0] as string, [...actions.keys()])
    throw new FencepostError('FP_TASK_UNKNOWN', `${unknown.join(', ')}, of workflow ${definition.name}`, {
      hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}Start a worker that has it first, or pass the task itself as the action.`,
    })
  }

  #controlled<Answer extends string, Wanted extends Answer>(
    id: string,
    { answer, state }: { answer: Answer; state: RunState | null },
    wanted: readonly Wanted[],
  ): { answer: Wanted; state: RunState | null } {
    if ((wanted as readonly string[]).includes(answer)) return { answer: answer as Wanted, state }
    if (answer === 'missing') throw new FencepostError('FP_RUN_UNKNOWN', id)
    throw new FencepostError('FP_RUN_STATE', `run ${id} is ${state}`)
  }

  #told(id: string, answer: TellAnswer): void {
    if (answer === 'full')
      throw new FencepostError('FP_RUN_STATE', `run ${id} keeps 1000 signals that nothing has waited for`)
    if (answer === 'missing') throw new FencepostError('FP_RUN_UNKNOWN', id)
    if (answer === 'ended') throw new FencepostError('FP_RUN_STATE', `run ${id} has ended`)
  }
}

function unknownTask(task: string, names: readonly string[], why = 'was not reached'): FencepostError {
  const nearest = nearestName(task, names)
  const known = names.length === 0 ? 'There are none.' : `There are ${[...new Set(names)].join(', ')}.`
  return new FencepostError('FP_TASK_UNKNOWN', `task ${shown(task)} of the run is unknown, or ${why}`, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}${known}`,
  })
}
