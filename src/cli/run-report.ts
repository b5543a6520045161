import type { Workflows } from '../client/workflows.js'
import type { Json } from '../job/json.js'
import type { Database } from '../store/database.js'
import { readSecrets } from '../store/run-secrets.js'
import type { RunDetail, TaskRunView } from '../store/runs.js'
import {
  type FailedItemView,
  firstOpenItem,
  listFailedItems,
  listSubRuns,
  type SubRunView,
} from '../store/run-items.js'
import { type WhyNotRunning, whyNotRunning } from '../store/why-not-running.js'
import { isJob } from '../workflow/built-in-actions.js'
import { SecretMask } from '../job/secret-mask.js'
import { hasLiveWorker } from './workflow-session.js'

/** The job of an item that has not ended, and why it does not run, if it does not. */
interface OpenItem {
  readonly item: number
  readonly jobId: string
  readonly why: WhyNotRunning
}

/** A run as people see it: without secrets, and with what is needed to say what it waits for. */
export interface RunReport {
  readonly run: RunDetail
  /** Those that have not ended first; not all, if there are many. */
  readonly subRuns: readonly SubRunView[]
  /** Of the last few task runs with failures; not all, if there are many. */
  readonly failedItems: readonly FailedItemView[]
  /** Of the first few active task runs, by `task/ordinal`. */
  readonly openItems: ReadonlyMap<string, OpenItem>
  readonly hasWorker: boolean
}

export const subRunsShownMax = 50
const failedShownMax = 10
/** Task runs that are looked at: each costs a statement or two. */
const lookedAtMax = 5

export async function readReport(workflows: Workflows, db: Database, runId: string): Promise<RunReport> {
  const mask = new SecretMask((await readSecrets(db, [runId])).get(runId) ?? [])
  const run = masked(await workflows.run(runId), mask)
  const open = run.taskRuns.filter(
    ({ endedAt, state, action }) => endedAt === null && state === 'running' && isJob(action),
  )
  const openItems = new Map<string, OpenItem>()
  for (const taskRun of open.slice(0, lookedAtMax)) {
    const item = await openItemOf(db, runId, taskRun)
    if (item) openItems.set(`${taskRun.task}/${taskRun.ordinal}`, item)
  }
  const hasSubRuns = run.taskRuns.some(({ action }) => action.startsWith('workflow.'))
  const subRuns = hasSubRuns ? await listSubRuns(db, runId, subRunsShownMax) : []
  const failedItems = (await failedItemsOf(db, run)).map((item) => ({ ...item, message: mask.json(item.message) }))
  return { run, subRuns, failedItems, openItems, hasWorker: await hasLiveWorker(db) }
}

async function failedItemsOf(db: Database, { id, taskRuns }: RunDetail): Promise<FailedItemView[]> {
  const found: FailedItemView[] = []
  const failed = taskRuns.filter((each) => each.failed > 0 && isJob(each.action))
  for (const { task, ordinal, dispatched } of failed.slice(-lookedAtMax)) {
    found.push(...(await listFailedItems(db, id, task, ordinal, dispatched, failedShownMax)))
  }
  return found
}

async function openItemOf(db: Database, runId: string, taskRun: TaskRunView): Promise<OpenItem | undefined> {
  const { task, ordinal, dispatched } = taskRun
  const first = await firstOpenItem(db, runId, task, ordinal, dispatched)
  const why = first && (await whyNotRunning(db, first.jobId))
  return first && why && { ...first, why }
}

function masked(run: RunDetail, mask: SecretMask): RunDetail {
  const hide = <Value>(value: Value): Value => mask.json(value as Json) as Value
  const { definition, parameters, vars, output, error } = run
  const secret = Object.keys(parameters).filter(
    (name) => definition.parameters[name]?.secret && parameters[name] !== null,
  )
  return {
    ...run,
    // However short it is, or whatever its type.
    parameters: { ...hide(parameters), ...Object.fromEntries(secret.map((name) => [name, '•••'])) },
    vars: hide(vars),
    output: hide(output),
    error: hide(error),
    taskRuns: run.taskRuns.map((each) => ({ ...each, input: hide(each.input), error: hide(each.error) })),
  }
}
