import { commands, type TaskDefinition } from './definition.js'

/** As much of a definition as its graph needs. */
export interface Graph {
  readonly tasks: readonly GraphTask[]
}

type GraphTask = Pick<TaskDefinition, 'name' | 'join'> & {
  readonly next: readonly { readonly do: readonly string[] }[]
}

/** The tasks that a task’s transitions name, each once, in their order; commands are none. */
export function targetsOf(task: GraphTask): readonly string[] {
  const named = task.next.flatMap((transition) => transition.do)
  return [...new Set(named)].filter((name) => !commands.some((command) => command === name))
}

/**
 * For every task the tasks that lead to it, in the order of the definition. Several transitions of one task to another
 * are one edge.
 */
export function edgesInto(graph: Graph): ReadonlyMap<string, readonly string[]> {
  const sources = new Map<string, string[]>(graph.tasks.map(({ name }) => [name, []]))
  for (const task of graph.tasks) for (const target of targetsOf(task)) sources.get(target)?.push(task.name)
  return sources
}

/** The tasks that no edge of another leads to: a run begins with all of them. */
export function startTasks(graph: Graph): readonly string[] {
  const sources = edgesInto(graph)
  const isStart = (name: string) => sources.get(name)?.every((source) => source === name) ?? false
  return graph.tasks.map(({ name }) => name).filter(isStart)
}

/** These tasks, and all that edges lead to from them, whatever the conditions and joins. */
export function reachableFrom(graph: Graph, names: Iterable<string>): ReadonlySet<string> {
  const tasks = new Map(graph.tasks.map((task) => [task.name, task]))
  const reached = new Set<string>()
  const open = [...names]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const task = tasks.get(name)
    if (!task || reached.has(name)) continue
    reached.add(name)
    open.push(...targetsOf(task))
  }
  return reached
}

/**
 * The tasks that can run at all if every transition fires: a task with a join needs as many of its edges as it asks for,
 * and they come from tasks that can run before it does.
 */
export function runnableTasks(graph: Graph): ReadonlySet<string> {
  const sources = edgesInto(graph)
  const tasks = new Map(graph.tasks.map((task) => [task.name, task]))
  const fired = new Map<string, number>()
  const runnable = new Set<string>()
  const open = [...startTasks(graph)]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const task = tasks.get(name)
    if (!task || runnable.has(name)) continue
    runnable.add(name)
    for (const target of targetsOf(task)) {
      const count = (fired.get(target) ?? 0) + 1
      fired.set(target, count)
      const join = tasks.get(target)?.join ?? 1
      if (count >= (join === 'all' ? (sources.get(target)?.length ?? 0) : join)) open.push(target)
    }
  }
  return runnable
}
