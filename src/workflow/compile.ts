import { FencepostError } from '../errors.js'
import { type Json, jsonText } from '../job/json.js'
import { limits } from '../limits.js'
import { compileTask } from './compile-task.js'
import type { Definition, TaskDefinition } from './definition.js'
import { ExpressionCheck } from './expression-check.js'
import { compileFields } from './field-declarations.js'
import { Field, isText, type Shape } from './field.js'
import { checkGraph } from './graph-check.js'
import { targetsOf } from './graph.js'
import { nameProblem } from './names.js'
import { inOrder, type Places, type Problem, ProblemLog } from './problem.js'

/**
 * A registered symbol, not a list of our own: who deploys a definition may have another copy of this package than who
 * checked it. A copy of a definition, which may have been changed, does not have it.
 */
const compiledMark = Symbol.for('fencepost.compiled')

export function isCompiled(definition: unknown): boolean {
  return typeof definition === 'object' && definition !== null && compiledMark in definition
}

export type Compiled = { readonly definition: Definition } | { readonly problems: readonly Problem[] }

const workflowShape: Shape = {
  what: 'a workflow',
  keys: ['name', 'description', 'parameters', 'vars', 'timeout', 'tasks', 'output'],
  elsewhere: {
    version: 'Versions are counted for you: a changed definition becomes the next one.',
    id: 'name',
    input: 'parameters',
    inputs: 'parameters',
    params: 'parameters',
    variables: 'vars',
    env: 'vars',
    steps: 'tasks',
    jobs: 'tasks',
    nodes: 'tasks',
    outputs: 'output',
    result: 'output',
    join: 'join belongs to a task.',
    retry: 'retry belongs to a task.',
  },
}

/**
 * Checks a definition, as it was read from YAML or made by the builder, and gives it the form in which it is stored; or
 * tells everything that is wrong with it.
 */
export function compileWorkflow(data: unknown, places?: Places): Compiled {
  const log = new ProblemLog(data, places)
  const plain = plainData(data, log)
  if (plain === undefined) return { problems: log.problems }
  const definition = compileRoot(new Field(plain, [], log))
  if (log.problems.length > 0) return { problems: inOrder(log.problems) }
  return { definition: Object.defineProperty(definition, compiledMark, { value: true }) }
}

/** JSON, so that what is checked is what is stored. */
function plainData(data: unknown, log: ProblemLog): unknown {
  try {
    return JSON.parse(jsonText(data, 'the definition', limits.definitionBytesMax))
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error
    log.addAtValue([], error.message, error.hint)
    return undefined
  }
}

function compileRoot(root: Field): Definition {
  const nothing: Definition = {
    name: '',
    description: null,
    parameters: {},
    vars: {},
    timeoutMs: null,
    tasks: [],
    output: null,
  }
  if (!root.hasShape(workflowShape, 'Begin with name: … and tasks: …')) return nothing
  const name = compileName(root)
  const parameters = compileFields(root.at('parameters'), 'parameter')
  const vars = compileVars(root.at('vars'))
  const fields = compileTaskList(root)
  const expressions = new ExpressionCheck({
    tasks: fields.map((field) => field.at('name').value).filter(isText),
    actions: tasksByAction(fields),
    vars: Object.keys(vars),
    parameters: Object.keys(parameters),
    secrets: Object.keys(parameters).filter((key) => parameters[key]?.secret),
  })
  for (const key of Object.keys(vars)) {
    expressions.checkTemplate(root.at('vars').at(key), 'vars', 'vars are shown')
  }
  const tasks = compileTasks(root.at('tasks'), fields, expressions)
  expressions.checkTemplate(root.at('output'), 'output', 'the output is shown')
  return {
    name,
    description: root.at('description').isGiven ? (root.at('description').text() ?? null) : null,
    parameters,
    vars,
    timeoutMs: root.at('timeout').isGiven ? (root.at('timeout').durationMs(limits.timeoutMsMin) ?? null) : null,
    tasks,
    output: (root.at('output').value ?? null) as Json,
  }
}

function compileName(root: Field): string {
  const field = root.at('name')
  if (field.value === undefined) {
    if (!root.hasKey('name', workflowShape)) root.add('the workflow has no name', 'Begin the file with name: …')
    return ''
  }
  const name = typeof field.value === 'number' ? String(field.value) : field.text('the name of the workflow')
  if (name === undefined) return ''
  const problem = nameProblem(name, 'workflow', 'a workflow')
  if (problem) field.add(problem.message, problem.hint)
  return name
}

function compileVars(field: Field): Readonly<Record<string, Json>> {
  if (!field.isGiven) return {}
  const hint = Array.isArray(field.value)
    ? 'Leave out the dashes: vars: { image: null }.'
    : 'Such as vars: { image: null }.'
  const entries = field.entries('a mapping of names to first values', hint) ?? []
  if (entries.length > limits.workflowFieldsMax) {
    field.addAtKey(
      `there are ${entries.length} vars, the limit is ${limits.workflowFieldsMax}`,
      'Put several into one that is a mapping.',
    )
  }
  for (const [name, value] of entries) {
    const problem = nameProblem(name, 'member', 'a var')
    if (problem) value.addAtKey(problem.message, problem.hint)
  }
  return Object.fromEntries(entries.map(([name, { value }]) => [name, value as Json]))
}

function compileTaskList(root: Field): readonly Field[] {
  const field = root.at('tasks')
  if (field.value === undefined) {
    if (!root.hasKey('tasks', workflowShape)) root.add('the workflow has no tasks', 'Add tasks: with a list of them.')
    return []
  }
  const isMapping = typeof field.value === 'object' && field.value !== null && !Array.isArray(field.value)
  const hint = isMapping
    ? `Put each name into its task: - name: ${Object.keys(field.value ?? {})[0] ?? '…'}`
    : 'Such as - name: build, with action: … below it.'
  const fields = field.list('a list of tasks', hint) ?? []
  if (Array.isArray(field.value) && fields.length === 0) field.add('the workflow has no tasks', 'Add one: - name: …')
  if (fields.length > limits.workflowTasksMax) {
    field.addAtKey(
      `there are ${fields.length} tasks, the limit is ${limits.workflowTasksMax}`,
      'Move parts into workflows of their own, and call them with action: workflow.<name>. For the same task many times use with_items.',
    )
  }
  return fields
}

function tasksByAction(fields: readonly Field[]): ReadonlyMap<string, string> {
  const named = fields.map((field) => [field.at('action').value, field.at('name').value])
  return new Map(named.filter((pair): pair is [string, string] => pair.every(isText)))
}

function compileTasks(list: Field, fields: readonly Field[], expressions: ExpressionCheck): readonly TaskDefinition[] {
  const compiled = fields.flatMap((field) => {
    const task = compileTask(field, expressions)
    return task ? [[task, field] as const] : []
  })
  const tasks = compiled.map(([task]) => task)
  checkTransitionCount(list, tasks)
  const names = new Set<string>()
  for (const [{ name }, field] of compiled) {
    if (names.has(name) && name !== '')
      field.at('name').add(`there are two tasks with the name ${JSON.stringify(name)}`, twiceHint)
    names.add(name)
  }
  // A graph with a hole in it would be full of problems that are none.
  const isWhole = tasks.every((task) => task.name !== '' && targetsOf(task).every((name) => names.has(name)))
  if (isWhole && names.size === fields.length && names.size > 0) checkGraph(list, compiled)
  return tasks
}

const twiceHint = 'Give each its own: transitions and expressions find them by name.'

function checkTransitionCount(list: Field, tasks: readonly TaskDefinition[]): void {
  const counts = tasks.flatMap(({ next }) => next.map((transition) => Math.max(1, transition.do.length)))
  const transitions = counts.reduce((sum, count) => sum + count, 0)
  if (transitions <= limits.workflowTransitionsMax) return
  list.addAtKey(
    `there are ${transitions} transitions, the limit is ${limits.workflowTransitionsMax}`,
    'Let several tasks meet in one with join: all.',
  )
}
