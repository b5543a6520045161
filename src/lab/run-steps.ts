import { createHash } from 'node:crypto'
import type { Json } from '../job/json.js'
import type { Database, Queryable } from '../store/database.js'
import {
  advance,
  type Called,
  cancelRun,
  putActions,
  putWorkflow,
  readWorkflow,
  startRun,
  takeCalls,
  tellRun,
} from '../store/runs.js'
import { LookedUp } from '../worker/advancer.js'
import { decide } from '../workflow/conductor.js'
import { Missing, type Situation } from '../workflow/situation.js'
import type { Definition } from '../workflow/definition.js'
import { type Plan, planOf } from '../workflow/plan.js'
import type { Change } from '../workflow/run.js'
import { jobActions } from '../workflow/startable.js'
import { readWorkflowText } from '../workflow/workflow-file.js'

/** What follows from what a run was told; a naïve version is often the real one with something left out. */
export type Decide = (situation: Situation) => Change

export interface RunStepsOptions {
  readonly db: Database
  /** The queue of its items, and how long their leases last. */
  readonly queue: string
  readonly leaseMs: number
  readonly decide?: Decide
}

/** What a worker does for runs, one move at a time, so that others can come between: through the same store functions. */
export class RunSteps {
  readonly #options: RunStepsOptions
  readonly #db: Database
  readonly #decide: Decide
  readonly #plans = new Map<string, Plan>()
  /** What was taken and what was decided, whatever became of it. */
  called: readonly Called[] = []
  decided: readonly Change[] = []

  constructor(options: RunStepsOptions) {
    this.#options = options
    this.#db = options.db
    this.#decide = options.decide ?? decide
  }

  /** Deploys a workflow, written in YAML; its tasks, and the budget of their failures, as a worker would make them known. */
  async deploy(text: string, failuresMax = 0): Promise<{ name: string; version: number }> {
    const definition = definitionOf(text)
    const { queue, leaseMs } = this.#options
    await putActions(
      this.#db,
      jobActions(definition).map((task) => ({
        task,
        queue,
        priority: 0,
        failuresMax,
        lossesMax: 5,
        leaseMs,
        keyed: false,
      })),
    )
    return { name: definition.name, version: await putWorkflow(this.#db, definition, digestOf(text)) }
  }

  /** Deploys a workflow and starts a run of it. */
  async start(id: string, text: string, parameters: Readonly<Record<string, Json>> = {}): Promise<string> {
    const { name, version } = await this.deploy(text)
    const parametersText = JSON.stringify(parameters)
    return startRun(this.#db, { id, workflow: name, version, parametersText, needs: [] })
  }

  /** Takes the runs that have something to do, and decides what. Answers how many letters each was told. */
  async take(): Promise<string> {
    this.called = await takeCalls(this.#db, [], 20)
    this.decided = await Promise.all(this.called.map((called) => this.change(called)))
    const told = this.called.map(({ letters }) => letters.flatMap(({ ids }) => ids).length)
    return told.length === 0 ? 'nothing to do' : `told ${told.join(' and ')}`
  }

  /** What follows from what one run was told. */
  async change(called: Called): Promise<Change> {
    const plan = await this.#plan(called.run.workflow, called.run.version)
    const known = new LookedUp(this.#db, called.run.id, plan)
    for (;;) {
      try {
        return this.#decide({ ...called, plan, known })
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        await known.lookUp(error.what)
      }
    }
  }

  /** Has done what was decided, if the runs are still as they were. */
  async advance(): Promise<string> {
    if (this.decided.length === 0) return 'nothing was decided'
    return notes(await advance(this.#db, this.decided))
  }

  /** The same in a transaction of the caller's. */
  async advanceIn(tx: Queryable): Promise<string> {
    const rows = await this.#db.move<{ answer: string }>(
      'select * from fencepost.advance($1::jsonb)',
      () => [JSON.stringify(this.decided)],
      tx,
    )
    return rows.map(({ answer }) => answer).join(', ')
  }

  /** What a worker does when it is called: until no run has anything to do that nobody else is at. */
  async advanceAll(): Promise<string> {
    const answers: string[] = []
    while ((await this.take()) !== 'nothing to do') answers.push(await this.advance())
    return answers.join('; ') || 'nothing to do'
  }

  async cancel(
    id: string,
    mode: 'allow_finish' | 'cancel_running' = 'cancel_running',
    tx?: Queryable,
  ): Promise<string> {
    const { answer, state } = await cancelRun(this.#db, id, mode, undefined, tx)
    return answer === 'ended' ? `it has ${state}` : answer
  }

  signal(id: string, name: string, tx?: Queryable): Promise<string> {
    return tellRun(this.#db, id, { kind: 'signal', name, payloadText: 'null' }, tx)
  }

  /** Each run's state and, if it failed, why. */
  async states(ids: readonly string[]): Promise<string> {
    const rows = await this.#db.once<{ state: string; code: string | null }>(
      `select r.state, r.error ->> 'code' as code
       from unnest($1::uuid[]) with ordinality as a(id, n) join fencepost.run r on r.id = a.id order by a.n`,
      [ids],
    )
    return rows.map(({ state, code }) => (code ? `${state} (${code})` : state)).join(', ')
  }

  async #plan(name: string, version: number): Promise<Plan> {
    const key = `${name}/${version}`
    const known = this.#plans.get(key)
    if (known) return known
    const stored = await readWorkflow(this.#db, name, version)
    if (!stored) throw new Error(`there is no workflow ${key}`)
    const plan = planOf(stored.definition)
    this.#plans.set(key, plan)
    return plan
  }
}

export function definitionOf(text: string): Definition {
  const read = readWorkflowText(text, 'scenario.yaml')
  if ('problems' in read) throw new Error(read.text)
  return read.definition
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** In the order of the ids. */
function notes(answers: ReadonlyMap<string, string>): string {
  return [...answers]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, answer]) => answer)
    .join(', ')
}
