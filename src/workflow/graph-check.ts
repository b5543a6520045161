import type { TaskDefinition } from './definition.js'
import { type Field, listed } from './field.js'
import { edgesInto, reachableFrom, runnableTasks, startTasks } from './graph.js'

/** What can be said of a graph without running it: where it begins, what is never reached, which joins are never met. */
export function checkGraph(list: Field, tasks: readonly (readonly [TaskDefinition, Field])[]): void {
  const graph = { tasks: tasks.map(([task]) => task) }
  const starts = startTasks(graph)
  if (starts.length === 0) return noStart(list, graph.tasks)
  const sources = edgesInto(graph)
  const reached = reachableFrom(graph, starts)
  const runnable = runnableTasks(graph)
  for (const [task, field] of tasks) {
    const before = sources.get(task.name) ?? []
    if (!reached.has(task.name)) unreachable(task, field, before)
    else checkJoin(task, field.at('join'), before, runnable)
  }
}

function noStart(list: Field, tasks: readonly TaskDefinition[]): void {
  const first = tasks[0]?.name ?? ''
  list.addAtKey(
    'there is no task to start with: every task has one that leads to it',
    `A run starts with the tasks that no do names. To start with ${first}, put a task before it: { name: start, action: core.noop, next: [{ do: ${first} }] }.`,
  )
}

function unreachable(task: TaskDefinition, field: Field, before: readonly string[]): void {
  const others = before.filter((name) => name !== task.name)
  const only = others.length === 1 ? 'leads to it, and nothing starts that' : 'lead to it, and nothing starts those'
  field
    .at('name')
    .add(
      `task ${JSON.stringify(task.name)} is never reached`,
      `Only ${listed(others)} ${only}. Name it in do of a task that runs.`,
    )
}

function checkJoin(task: TaskDefinition, field: Field, before: readonly string[], runnable: ReadonlySet<string>): void {
  if (task.join === null) return
  if (before.length === 0) {
    field.add(
      `join: no task leads to ${JSON.stringify(task.name)}, so it has nothing to wait for`,
      'Name it in do of the tasks that it waits for, or take join out.',
    )
    return
  }
  if (typeof task.join === 'number' && task.join > before.length) {
    const count = before.length === 1 ? 'only one task leads' : `only ${before.length} tasks lead`
    field.add(
      `join can never be met: it asks for ${task.join}, but ${count} to ${JSON.stringify(task.name)}`,
      `${before.length === 1 ? 'That is' : 'Those are'} ${listed(before)}. Several transitions of one task count as one.`,
    )
    return
  }
  if (runnable.has(task.name) || !before.some((name) => runnable.has(name))) return
  const late = before.filter((name) => !runnable.has(name))
  field.add(
    `join can never be met: ${listed(late)} can only run after ${JSON.stringify(task.name)}`,
    `Ask for fewer: join: ${before.length - late.length}, or lead back to a task before it that has no join.`,
  )
}
