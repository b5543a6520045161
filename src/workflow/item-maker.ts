import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { type Active, roomFor } from './active-task-run.js'
import { isRun, troubleOf } from './built-in-actions.js'
import type { TaskDefinition } from './definition.js'
import type { TaskPlan } from './plan.js'
import type { ItemJobs, JobPolicy, NewRun, Progress, SecretPlace, Trouble } from './run.js'
import type { SecretFlow } from './secret-flow.js'
import { Missing, type Situation, type StartableWorkflow } from './situation.js'

/** How long the inputs of all items of one advance may be together: the change is one message to the database. */
const bytesMax = 16 * 1_048_576

/** Makes the items of task runs, as many as there is room and time for: jobs, or runs of other workflows. */
export class ItemMaker {
  readonly jobs: ItemJobs[] = []
  readonly runs: NewRun[] = []
  readonly #known: Situation['known']
  readonly #secrets: SecretFlow
  /** The workflows of the runs in each other, up to this one. */
  readonly #chain: readonly string[]
  readonly #isLate: () => boolean
  #bytes = 0

  constructor(
    { run, plan, known }: Situation,
    { secrets, callers }: Pick<Progress, 'secrets' | 'callers'>,
    isLate: () => boolean,
  ) {
    this.#known = known
    this.#secrets = plan.secretFlow(secrets)
    this.#chain = [...callers, run.workflow]
    this.#isLate = isLate
  }

  /** Answers what is wrong with the first that cannot be made; those before it are. */
  make(task: Active, plan: TaskPlan, inputOf: (item: Json | undefined, index: number) => Json): Trouble | undefined {
    const from = task.dispatched
    const isList = plan.definition.items !== null
    const slice: readonly (Json | undefined)[] = isList ? (task.slice ?? []).slice(0, roomFor(task)) : [undefined]
    const inputs: Json[] = []
    let trouble: Trouble | undefined
    try {
      for (const item of slice) {
        const input = inputOf(item, from + inputs.length)
        this.#bytes += JSON.stringify(input).length
        if (this.#bytes > bytesMax && inputs.length > 0) break
        inputs.push(input)
        if (this.#isLate()) break
      }
    } catch (error) {
      if (error instanceof Missing) throw error
      trouble = troubleOf(error, `input of ${task.task}`)
    }
    task.slice = task.slice?.slice(inputs.length) ?? null
    if (inputs.length === 0) return trouble
    if (isRun(task.action)) return this.#makeRuns(task, from, inputs) ?? trouble
    this.#makeJobs(task, plan.definition, from, inputs)
    return trouble
  }

  #makeJobs(task: Active, definition: TaskDefinition, from: number, inputs: readonly Json[]): void {
    const { action, delayMs, retry } = definition
    // A limit that the list cannot reach needs no gate.
    const concurrency = task.concurrency !== null && task.concurrency < task.total ? task.concurrency : null
    const policy = policyOf(definition, concurrency !== null, this.#secrets.placesIn(task.task))
    const { task: name, ordinal } = task
    this.jobs.push({
      task: name,
      ordinal,
      action,
      from,
      inputs,
      delayMs,
      failuresMax: retry?.count ?? null,
      policy,
      concurrency,
    })
    task.dispatched += inputs.length
  }

  #makeRuns(task: Active, from: number, inputs: readonly Json[]): Trouble | undefined {
    const name = task.action.slice('workflow.'.length)
    if (this.#chain.length >= limits.runDepthMax) return tooDeep([...this.#chain, name])
    const workflow = this.#known.workflow(name)
    if (workflow === undefined) throw new Missing({ workflow: name })
    for (const [index, input] of inputs.entries()) {
      const checked = workflow?.check(input) ?? { problem: `there is no workflow ${name}` }
      if ('problem' in checked) return { code: 'FP_WORKFLOW_PARAMETERS', message: checked.problem }
      const { version, needs } = workflow as StartableWorkflow
      const item = { task: task.task, ordinal: task.ordinal, item: from + index }
      const { parameters } = checked
      const secrets = secretNames(this.#secrets.placesIn(task.task), parameters)
      const progress = { callers: this.#chain, secrets }
      this.runs.push({ ...item, workflow: name, version, needs, parameters, progress })
      task.dispatched++
    }
    return undefined
  }
}

/** What the workflow says of its items instead of their task; null if it says nothing. */
function policyOf(
  { retry, timeoutMs, items }: TaskDefinition,
  isGated: boolean,
  secrets: readonly SecretPlace[],
): JobPolicy | null {
  const halt = isGated && items?.onFailure === 'fail'
  if (retry === null && timeoutMs === null && !halt && secrets.length === 0) return null
  return {
    ...(halt && { halt }),
    ...(timeoutMs !== null && { timeoutMs }),
    ...(secrets.length > 0 && { secrets }),
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
}

/** The parameters of another run that these places are in. */
function secretNames(places: readonly SecretPlace[], parameters: object): string[] {
  const isAnywhere = places.some(({ path }) => path.length === 0)
  return Object.keys(parameters).filter((name) => isAnywhere || places.some(({ path }) => path[0] === name))
}

function tooDeep(chain: readonly string[]): Trouble {
  const named = chain.length <= 8 ? chain : [...chain.slice(0, 3), '…', ...chain.slice(-3)]
  return {
    code: 'FP_RUN_TOO_DEEP',
    message: `runs may be ${limits.runDepthMax} deep in each other, and this would be one more: ${named.join(' → ')}`,
  }
}
