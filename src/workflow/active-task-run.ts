import type { Json } from '../job/json.js'
import { isRun } from './built-in-actions.js'
import type { TaskPlan } from './plan.js'
import type { Ending, TaskRun, Trouble } from './run.js'
import type { ActiveDetail } from './situation.js'

/** Items made in one advance, of one task run. */
export const itemsAtOnce = 5_000

/** A task run that a decision is about. */
export interface Active extends TaskRun, ActiveDetail {
  slice: readonly Json[] | null
  readonly isNew: boolean
  items: readonly Json[] | null
  ended: boolean
}

export function newTaskRun({ name, definition }: TaskPlan, ordinal: number, from: TaskRun | null): Active {
  return {
    task: name,
    ordinal,
    action: definition.action,
    state: 'running',
    total: 1,
    dispatched: 0,
    succeeded: 0,
    failed: 0,
    stopped: 0,
    stop: null,
    concurrency: null,
    via: from?.task ?? null,
    viaOrdinal: from?.ordinal ?? null,
    input: null,
    result: null,
    error: null,
    slice: null,
    ending: null,
    items: null,
    isNew: true,
    ended: false,
  }
}

/** Runs have no gate: so many are made as may be under way. */
export function roomFor(task: TaskRun): number {
  if (!isRun(task.action) || task.concurrency === null) return itemsAtOnce
  return Math.max(0, task.concurrency - (task.dispatched - task.succeeded - task.failed))
}

export function errorOf({ outcome, reason, code, message }: Ending, error: Json, item: number | null): Trouble {
  const described = (error ?? {}) as { message?: string }
  const told = {
    message: message ?? described.message ?? reason ?? outcome,
    code: String(code ?? reason ?? outcome),
  }
  return item === null ? { ...(described as object), ...told } : { ...told, item }
}

export function itemsTrouble({ failed, total, error }: TaskRun): Trouble {
  const first =
    error?.['item'] === undefined ? error?.message : `item ${JSON.stringify(error['item'])}: ${error.message}`
  return {
    ...error,
    code: 'FP_ITEMS_FAILED',
    message: `${failed} of ${total} items did not succeed; the first: ${first}`,
  }
}

/** There is nothing to make of it now. */
export function isMade(task: Active): boolean {
  const isOpen = !task.ended && task.state === 'running' && task.stop === null
  return !isOpen || task.dispatched === task.total || roomFor(task) === 0
}
