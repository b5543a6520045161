import { reachableFrom } from './graph.js'
import type { Plan, TaskPlan } from './plan.js'
import type { Progress, Trouble } from './run.js'

/**
 * Counts the edges that fired into each join. The nth activation of a join takes the nth firing of each of its edges, so
 * that in a cycle one that runs ahead does not fire it for the others. An edge that fires when its activation has begun
 * already (`join: 2` of three) is absorbed.
 */
export class Joins {
  readonly #plan: Plan
  readonly #joins: Progress['joins']

  constructor(plan: Plan, joins: Progress['joins']) {
    this.#plan = plan
    this.#joins = joins
  }

  /** True if this edge was the last that the join waited for. */
  arrive(source: string, target: TaskPlan): boolean {
    const join = (this.#joins[target.name] ??= { done: 0, fired: Object.create(null) as Record<string, number> })
    join.fired[source] = (join.fired[source] ?? 0) + 1
    if (arrived(join, target).length < needed(target)) return false
    join.done++
    return true
  }

  /** As if this task had not ended, nor what followed from it: edges from elsewhere stay as they are. */
  forget(name: string): void {
    const later = reachableFrom(this.#plan.definition, [name])
    for (const target of later) {
      const join = this.#joins[target]
      const plan = this.#plan.tasks.get(target)
      const inside = plan?.sources.filter((source) => later.has(source)) ?? []
      if (!join || !plan || inside.length === 0 || target === name) continue
      const outside = plan.sources.filter((source) => !later.has(source) && (join.fired[source] ?? 0) >= join.done)
      if (join.done > 0 && outside.length < needed(plan)) join.done--
      for (const source of inside) join.fired[source] = Math.min(join.fired[source] ?? 0, join.done)
    }
  }

  /** What is wrong if nothing is under way, and a join still waits. */
  unmeetable(): Trouble | undefined {
    for (const [name, join] of Object.entries(this.#joins)) {
      const target = this.#plan.tasks.get(name)
      if (!target) continue
      const there = arrived(join, target)
      if (there.length === 0) continue
      const missing = target.sources.filter((source) => !there.includes(source))
      const edges = missing.map((source) => `${source} → ${name}`).join(', ')
      return {
        code: 'FP_JOIN_UNMET',
        message: `task ${name} waits for ${needed(target)} of ${target.sources.length} edges, and can no longer get them: ${edges} did not fire`,
        task: name,
      }
    }
    return undefined
  }
}

function arrived({ done, fired }: Progress['joins'][string], target: TaskPlan): string[] {
  return target.sources.filter((source) => (fired[source] ?? 0) > done)
}

function needed({ definition, sources }: TaskPlan): number {
  return typeof definition.join === 'number' ? definition.join : sources.length
}
