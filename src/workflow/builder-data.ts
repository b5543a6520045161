import type { Task } from '../task/task.js'
import type { Problem } from './problem.js'
import type { Workflow } from './workflow.js'

/** The same data that a YAML file holds. What has another form than it should is left to the checks. */
export function builderData(name: string, options: unknown): unknown {
  if (!isMapping(options)) return options
  const { tasks, ...rest } = options
  const list = isMapping(tasks)
    ? Object.entries(tasks).map(([key, task]) => (isMapping(task) ? { name: key, ...taskData(task) } : task))
    : tasks
  return { name, ...withUnits(rest), tasks: list }
}

/** Whatever was given as an action. */
export function actionsOf(options: { readonly tasks: object }): readonly unknown[] {
  return Object.values(options.tasks).map((task: { readonly action?: unknown }) => task.action)
}

function taskData(task: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { action, retry, waitFor, ...rest } = task
  const data: Record<string, unknown> = inYaml(withUnits(rest))
  if (action !== undefined) data['action'] = actionName(action)
  if (retry !== undefined) data['retry'] = isMapping(retry) ? inYaml(withUnits(retry)) : retry
  if (waitFor !== undefined) data['wait_for'] = waitData(waitFor)
  return data
}

function waitData(wait: unknown): unknown {
  return isMapping(wait) && isMapping(wait['approval']) ? { ...wait, approval: withUnits(wait['approval']) } : wait
}

function actionName(action: unknown): unknown {
  if (isTask(action)) return action.name
  return isWorkflow(action) ? `workflow.${action.definition.name}` : action
}

/** In TypeScript a number is a duration in milliseconds; in YAML it would be taken for anything. */
function withUnits(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const durations = ['timeout', 'delay', 'maxDelay', 'expires']
  const entries = Object.entries(options).map(([key, value]) =>
    durations.includes(key) && typeof value === 'number' ? [key, `${value}ms`] : [key, value],
  )
  return Object.fromEntries(entries) as Record<string, unknown>
}

/** What is spelt differently in the two. */
const yamlWords: Readonly<Record<string, string>> = {
  waitFor: 'wait_for',
  withItems: 'with_items',
  batchSize: 'batch_size',
  onItemFailure: 'on_item_failure',
  maxDelay: 'max_delay',
}

function inYaml(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [yamlWords[key] ?? key, value]))
}

/** A problem in the words of the builder. */
export function asBuilderSpells(problem: Problem): Problem {
  const spelt = (text: string) =>
    Object.entries(yamlWords).reduce(
      (done, [ours, yaml]) => done.replaceAll(new RegExp(`\\b${yaml}\\b`, 'g'), ours),
      text,
    )
  return {
    ...problem,
    path: spelt(problem.path),
    message: spelt(problem.message),
    ...(problem.hint !== undefined && { hint: spelt(problem.hint) }),
  }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isTask(value: unknown): value is Task {
  return isMapping(value) && typeof value['run'] === 'function' && typeof value['name'] === 'string'
}

export function isWorkflow(value: unknown): value is Workflow {
  return isMapping(value) && isMapping(value['definition']) && Array.isArray(value['workflows'])
}
