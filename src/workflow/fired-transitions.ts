import type { Json } from '../job/json.js'
import type { Active } from './active-task-run.js'
import { ExpressionError, type Scope } from './expression.js'
import type { Outlook, Uses } from './outlook.js'
import type { TaskPlan } from './plan.js'
import type { Status } from './run.js'

/** What the transitions of a task that has ended come to. */
export interface Fired {
  readonly vars: Readonly<Record<string, Json>>
  /** Tasks and commands, each once. */
  readonly do: ReadonlySet<string>
}

/**
 * The transitions whose condition holds, in order: each sees what those before it have published. An expression that fails
 * is answered, or, if not `strict`, its transition does not fire.
 */
export function transitionsOf(
  { next }: TaskPlan,
  task: Active,
  status: Status,
  outlook: Outlook,
  before: Readonly<Record<string, Json>>,
  strict: boolean,
): Fired | ExpressionError {
  const targets = new Set<string>()
  let vars = before
  const scope = (uses: Uses): Scope => ({
    ...outlook.scope(uses, vars),
    error: task.error as Json,
    status,
    ...(uses.usesResult && { result: outlook.resultOf(task.task, task.ordinal).result }),
  })
  for (const { when, publish, do: named } of next) {
    try {
      if (when && !when.test(scope(when))) continue
      vars = { ...vars, ...(publish.evaluate(scope(publish)) as Record<string, Json>) }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      if (strict) return error
      continue
    }
    for (const target of named.length > 0 ? named : ['continue']) targets.add(target)
  }
  return { vars, do: targets }
}
