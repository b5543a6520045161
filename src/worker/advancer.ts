import { setTimeout as pause } from 'node:timers/promises'
import type { Events } from '../events.js'
import { FencepostError } from '../errors.js'
import type { Json } from '../job/json.js'
import type { Database } from '../store/database.js'
import { isRefusedData } from '../store/database-errors.js'
import {
  advance,
  type AdvanceAnswer,
  type Called,
  readActions,
  readTaskRunResult,
  readWorkflow,
  takeCalls,
} from '../store/runs.js'
import { gatesOf, type StoredGate } from '../task/gate.js'
import type { Task } from '../task/task.js'
import { validated } from '../task/validate.js'
import { decide } from '../workflow/conductor.js'
import { type Ended, type Known, Missing, type StartableWorkflow } from '../workflow/situation.js'
import { jobActions, neededTasks, startable } from '../workflow/startable.js'
import { type Plan, planOf } from '../workflow/plan.js'
import type { Change, ItemJobs, Trouble } from '../workflow/run.js'

const runsAtOnce = 20
const plansMax = 200
/** Handlers run in this process, too: what takes longer is gone on with in the next advance. */
const decisionMsMax = 200
/** How often a change is tried again whose run was just locked: 630 ms in all. */
const lockedTriesMax = 6

export interface AdvancerOptions {
  readonly db: Database
  readonly events: Events
  readonly tasks: ReadonlyMap<string, Task>
  /** There may be new jobs to claim. */
  readonly look: () => void
}

/**
 * Advances runs that were told something: reads what they were told, decides what follows (a pure function), and has it
 * done in one transaction, if the run is still as it was. Any number of processes may do it at the same time.
 */
export class Advancer {
  readonly #options: AdvancerOptions
  readonly #plans = new Map<string, Plan>()
  #called = false
  #working: Promise<void> | undefined
  #stopped = false

  constructor(options: AdvancerOptions) {
    this.#options = options
  }

  /** Some run may have something to do. */
  call(): void {
    this.#called = true
    if (this.#stopped || this.#working) return
    this.#working = this.#work().finally(() => {
      this.#working = undefined
      if (this.#called) this.call()
    })
  }

  /** What is being advanced is advanced to its end. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#working // guard: advancer.stop
  }

  async #work(): Promise<void> {
    const { db, events, tasks, look } = this.#options
    this.#called = false
    let reveal = () => {}
    try {
      while (!this.#stopped) {
        reveal()
        const called = await takeCalls(db, [...tasks.keys()], runsAtOnce)
        if (called.length === 0) return
        reveal = await this.#hideSecrets(called) // guard: advancer.secrets
        const changes = await Promise.all(called.map((each) => this.#change(each)))
        await this.#advance(called, changes)
        look()
      }
    } catch (error) {
      if (!this.#stopped) events.emit('error', { during: 'advancing runs', error })
    } finally {
      reveal()
    }
  }

  /** PostgreSQL quotes what it refuses. */
  async #hideSecrets(called: readonly Called[]): Promise<() => void> {
    const secrets = called.map(async ({ run: { workflow, version, parameters, progress } }) => {
      const plan = await this.#plan(workflow, version).catch(() => undefined) // told of when it is needed
      return plan?.secretFlow(progress.secrets ?? []).valuesOf(parameters) ?? []
    })
    return this.#options.events.hide((await Promise.all(secrets)).flat())
  }

  async #change(called: Called, fault?: Trouble): Promise<Change | undefined> {
    try {
      const plan = await this.#plan(called.run.workflow, called.run.version)
      const known = new LookedUp(this.#options.db, called.run.id, plan)
      for (;;) {
        const isLate = deadline(decisionMsMax)
        try {
          return await this.#withGates(called, decide({ ...called, plan, known, isLate, ...(fault && { fault }) }))
        } catch (error) {
          if (!(error instanceof Missing)) throw error
          await known.lookUp(error.what)
        }
      }
    } catch (error) {
      // It is tried again when its time as a busy one is over; too often, and the run fails.
      this.#options.events.emit('error', { during: `advancing run ${called.run.id}`, error })
      return undefined
    }
  }

  /** All at once; if that fails, each by itself: one must not keep the others from it. What cannot be stored fails its run. */
  async #advance(called: readonly Called[], changes: readonly (Change | undefined)[]): Promise<void> {
    const { events } = this.#options
    const given = changes.filter((change) => change !== undefined)
    if (given.length === 0) return
    try {
      const answers = await this.#store(given)
      for (const { run, state } of given) {
        if (answers.get(run) !== 'advanced') continue
        const { workflow } = (called.find((each) => each.run.id === run) as Called).run
        events.emit('advanced', { runId: run, workflow, state })
      }
    } catch (error) {
      if (isAway(error)) throw error
      if (given.length > 1) {
        // guard: advancer.alone
        for (const [n, change] of changes.entries()) {
          await this.#advance([called[n] as Called], [change]).catch((alone: unknown) => {
            events.emit('error', { during: `advancing run ${called[n]?.run.id}`, error: alone })
          })
        }
        return
      }
      if (!isRefusedData(error)) throw error // guard: advancer.not_storable
      const [only] = called.filter(({ run }) => run.id === given[0]?.run)
      const message = `what it came to cannot be stored: ${error instanceof Error ? error.message : String(error)}`
      const failing = only && (await this.#change(only, { code: 'FP_RUN_NOT_STORABLE', message }))
      if (failing) await this.#store([failing])
    }
  }

  /**
   * A run may just be locked: by who begins to watch it, or by a statement that has failed and told so before it had let go.
   * Left at that, it would count as busy for ten seconds.
   */
  async #store(changes: readonly Change[]): Promise<ReadonlyMap<string, AdvanceAnswer>> {
    const { db } = this.#options
    const answers = await advance(db, changes)
    for (let tries = 0; tries < lockedTriesMax; tries++) {
      // guard: advancer.locked
      const locked = changes.filter(({ run }) => answers.get(run) === 'locked')
      if (locked.length === 0) break
      await pause(10 * 2 ** tries)
      for (const [run, answer] of await advance(db, locked)) answers.set(run, answer)
    }
    return answers
  }

  async #plan(name: string, version: number): Promise<Plan> {
    const key = `${name}/${version}`
    const known = this.#plans.get(key)
    if (known) return known
    const stored = await readWorkflow(this.#options.db, name, version)
    if (!stored) throw new FencepostError('FP_WORKFLOW_UNKNOWN', `${name}, version ${version}`)
    const plan = planOf(stored.definition)
    if (this.#plans.size >= plansMax) this.#plans.clear()
    this.#plans.set(key, plan)
    return plan
  }

  /** Tasks whose gates have keys that depend on the input: here is their code. */
  async #withGates(called: Called, change: Change): Promise<Change | undefined> {
    const { tasks } = this.#options
    const jobs = change.jobs.map(async (items) => {
      const task = tasks.get(items.action)
      if (!task || (task.gates.length === 0 && !task.group)) return items
      return {
        ...items,
        gates: await Promise.all(items.inputs.map((input) => gatesOfItem(task, input, change.run, items))),
      }
    })
    try {
      return { ...change, jobs: await Promise.all(jobs) }
    } catch (error) {
      if (!(error instanceof FencepostError)) throw error
      // A key that its function cannot tell: another try would not, either.
      return this.#change(called, { code: error.code, message: error.message }) // guard: advancer.gate_fault
    }
  }
}

async function gatesOfItem(
  task: Task,
  input: Json,
  run: string,
  items: ItemJobs,
): Promise<readonly StoredGate[] | null> {
  const own: StoredGate[] =
    items.concurrency === null
      ? []
      : [{ key: `gate: run/${run}/${items.task}/${items.ordinal}`, limit: items.concurrency, onFull: 'wait' }]
  try {
    const gates = gatesOf(task, await validated(task.input, input, `the input of task ${task.name}`), {})
    // guard: advancer.gate_order
    // guard: advancer.own_gate
    return [...gates, ...own].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
  } catch (error) {
    // The worker refuses that input before the handler runs, and says why.
    if (error instanceof FencepostError && error.code.startsWith('FP_INPUT_')) return own.length > 0 ? own : null
    throw error
  }
}

function deadline(ms: number): () => boolean {
  const at = performance.now() + ms
  return () => performance.now() > at // guard: advancer.late
}

/** Nothing would come of another try, by whichever run. */
function isAway(error: unknown): boolean {
  return (
    error instanceof FencepostError &&
    ['FP_DATABASE_UNREACHABLE', 'FP_COMMIT_UNKNOWN', 'FP_CLOSED'].includes(error.code)
  )
}

/** What decisions about one run needed to know. */
export class LookedUp implements Known {
  readonly #db: Database
  readonly #runId: string
  readonly #plan: Plan
  readonly #results = new Map<string, Ended>()
  readonly #workflows = new Map<string, StartableWorkflow | null>()

  constructor(db: Database, runId: string, plan: Plan) {
    this.#db = db
    this.#runId = runId
    this.#plan = plan
  }

  result(task: string, ordinal: number): Ended | undefined {
    return this.#results.get(`${task}/${ordinal}`)
  }

  workflow(name: string): StartableWorkflow | null | undefined {
    return this.#workflows.get(name)
  }

  async lookUp(what: Missing['what']): Promise<void> {
    if ('workflow' in what) {
      const stored = await readWorkflow(this.#db, what.workflow)
      const actions = await readActions(this.#db)
      const unknown = stored ? jobActions(stored.definition).filter((action) => !actions.has(action)) : []
      const workflow = stored && startable(stored, neededTasks(stored.definition, actions), unknown)
      this.#workflows.set(what.workflow, workflow ?? null)
      return
    }
    const { task, ordinal } = what
    const { result, error, items } = await readTaskRunResult(this.#db, this.#runId, task, ordinal)
    const hasItems = this.#plan.tasks.get(task)?.definition.items != null
    const inline =
      hasItems && Array.isArray(result)
        ? result.map((each) => ({ status: 'succeeded' as const, result: each, error: null }))
        : undefined
    const all = items ?? inline
    this.#results.set(
      `${task}/${ordinal}`,
      all ? { result: all.map((item) => item.result), error, items: all } : { result, error },
    )
  }
}
