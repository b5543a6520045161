import { FencepostError } from '../errors.js'
import type { Json } from '../job/json.js'
import type { StartableWorkflow } from './situation.js'
import type { Definition } from './definition.js'
import { isJob } from './built-in-actions.js'
import { type CheckedValues, checkedValues } from './parameters.js'

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
  /** Tasks of it that nobody has registered. */
  unknown: readonly string[] = [],
): StartableWorkflow {
  return {
    version,
    needs,
    check(parameters: Json) {
      if (unknown.length > 0)
        return { problem: `no worker has ever known ${unknown.join(', ')}, of workflow ${definition.name}` }
      const checked = checkedOrRefused(definition, parameters)
      if ('values' in checked) return { parameters: checked.values }
      return { problem: `workflow ${definition.name}: ${checked.problems.map(({ message }) => message).join('; ')}` }
    },
  }
}

/** What is too large to be checked at all is refused, too. */
function checkedOrRefused(definition: Definition, parameters: Json): CheckedValues {
  try {
    return checkedValues(definition.parameters, parameters)
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error
    return { problems: [{ name: '', message: error.message }] }
  }
}
