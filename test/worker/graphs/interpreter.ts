import type { Json } from '../../../src/job/json.js'
import { type Behaviour, conditions, type RandomTask, type RandomWorkflow } from './random-workflow.js'

export interface Interpreted {
  readonly state: 'succeeded' | 'failed'
  /** How often each task was activated, and how it ended each time. */
  readonly activations: Readonly<Record<string, readonly string[]>>
  readonly output: Json
}

/**
 * What a workflow comes to, by the rules of the guide and without any of the engine: one activation after the other, in an
 * order of the caller's. Of a run that fails, it tells what would run if nothing were stopped.
 */
export function interpret(
  { tasks }: RandomWorkflow,
  workflows: Readonly<Record<string, (input: Json) => { state: 'succeeded' | 'failed'; output: Json }>>,
  pick: (length: number) => number,
): Interpreted {
  const sources = new Map(
    tasks.map(({ name }) => [
      name,
      tasks.filter((task) => task.next.some((next) => next.do.includes(name))).map((task) => task.name),
    ]),
  )
  const activations: Record<string, string[]> = {}
  const last: Record<string, [string, Json]> = {}
  const fired: Record<string, Record<string, number>> = {}
  const joined: Record<string, number> = {}
  let state: 'succeeded' | 'failed' = 'succeeded'

  const open = tasks.filter(({ name }) => sources.get(name)?.length === 0)
  while (open.length > 0) {
    const [task] = open.splice(pick(open.length), 1) as [RandomTask]
    const [status, result] = outcomeOf(task, workflows)
    const ordinal = (activations[task.name] ??= []).push(status)
    last[task.name] = [status, status === 'succeeded' ? result : null]
    const named = new Set(task.next.filter(({ when }) => holds(when, status, ordinal)).flatMap((next) => next.do))
    if (status === 'failed' && named.size === 0) state = 'failed'
    for (const name of named) {
      const target = tasks.find((each) => each.name === name)
      if (!target) continue
      if (target.join === undefined) open.push(target)
      else {
        const edges = (fired[name] ??= {})
        edges[task.name] = (edges[task.name] ?? 0) + 1
        const waiting = Object.values(edges).filter((times) => times > (joined[name] ?? 0)).length
        if (waiting < neededBy(target)) continue
        joined[name] = (joined[name] ?? 0) + 1
        open.push(target)
      }
    }
  }
  for (const [name, edges] of Object.entries(fired)) {
    if (Object.values(edges).some((times) => times > (joined[name] ?? 0))) state = 'failed'
  }
  return { state, activations, output: Object.fromEntries(tasks.map(({ name }) => [name, last[name] ?? []])) }

  function neededBy({ name, join }: RandomTask): number {
    return join === 'all' ? (sources.get(name) as string[]).length : (join as number)
  }
}

function holds(when: string | undefined, status: string, ordinal: number): boolean {
  if (when === conditions.always) return true
  if (when === conditions.succeeded) return status === 'succeeded'
  if (when === conditions.failed) return status === 'failed'
  return ordinal < Number(/< (\d+)/.exec(when)?.[1])
}

function outcomeOf(task: RandomTask, workflows: Parameters<typeof interpret>[1]): [string, Json] {
  if (task.action === 'core.echo') return ['succeeded', task.input as Json]
  if (task.action !== 'graph') {
    const { state, output } = (workflows[task.action] as (typeof workflows)[string])(task.input as Json)
    return [state, output]
  }
  const does = ({ value, failures }: Behaviour) => (failures > (task.retry?.count ?? 0) ? undefined : value)
  if (!task.with_items) {
    const value = does(task.input as unknown as Behaviour)
    return value === undefined ? ['failed', null] : ['succeeded', value]
  }
  const values = task.with_items.map((item) => does(item) ?? null)
  const failed = values.includes(null)
  return [failed && task.on_item_failure === 'fail' ? 'failed' : 'succeeded', values]
}
