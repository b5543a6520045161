import type { Json } from '../job/json.js'
import { troubleOf } from './built-in-actions.js'
import type { Scope } from './expression.js'
import type { Uses } from './outlook.js'
import type { Plan } from './plan.js'
import { Missing } from './situation.js'

/** The output of a run that ends. Of one that did not succeed (`partly`), as much as can be told. */
export function runOutput(
  plan: Plan,
  scope: (uses: Uses) => Scope,
  partly: boolean,
): { readonly output: Json } | { readonly trouble: ReturnType<typeof troubleOf> } {
  const parts = Object.entries(plan.outputs)
  try {
    return { output: plan.output.evaluate(scope(plan.output)) }
  } catch (error) {
    if (error instanceof Missing) throw error
    if (!partly) return { trouble: troubleOf(error, 'output') }
    if (parts.length === 0) return { output: null }
  }
  const told = parts.map(([name, part]): [string, Json] => {
    try {
      return [name, part.evaluate(scope(part))]
    } catch (error) {
      if (error instanceof Missing) throw error
      return [name, null]
    }
  })
  return { output: Object.fromEntries(told) }
}
