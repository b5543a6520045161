import type { Json } from '../job/json.js'
import type { StartableWorkflow } from './conductor.js'
import type { Definition } from './definition.js'
import { isJob } from './built-in-actions.js'
import { checkedValues } from './parameters.js'

/** The registered tasks that a workflow uses. */
export function jobActions(definition: Definition): string[] {
  return [...new Set(definition.tasks.map(({ action }) => action).filter(isJob))]
}

/** Those of them whose code an advance needs, because only it can tell the keys of their gates. */
export function neededTasks(definition: Definition, actions: ReadonlyMap<string, { keyed: boolean }>): string[] {
  return jobActions(definition).filter((action) => actions.get(action)?.keyed)
}

export function startable(
  { version, definition }: { readonly version: number; readonly definition: Definition },
  needs: readonly string[],
): StartableWorkflow {
  return {
    version,
    needs,
    check(parameters: Json) {
      const checked = checkedValues(definition.parameters, parameters)
      if ('values' in checked) return { parameters: checked.values }
      return { problem: `workflow ${definition.name}: ${checked.problems.map(({ message }) => message).join('; ')}` }
    },
  }
}
