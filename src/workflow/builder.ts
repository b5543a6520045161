import { FencepostError } from '../errors.js'
import type { Json } from '../job/json.js'
import type { Duration } from '../task/duration.js'
import type { Task } from '../task/task.js'
import { compileWorkflow } from './compile.js'
import type { commands, Definition, Parameter } from './definition.js'
import type { Problem } from './problem.js'
import { problemsText } from './problems-text.js'

/** A workflow that was checked. `Parameters` is what a run of it is started with. */
export interface Workflow<Parameters = unknown> {
  readonly definition: Definition
  /** The tasks that were given as actions, so that whoever runs the workflow can register them. */
  readonly tasks: readonly Task[]
  /** The workflows that were given as actions. */
  readonly workflows: readonly Workflow[]
  /** Never set: carries the type of the parameters. */
  readonly parametersType?: Parameters
}

type ParameterType = NonNullable<Parameter['type']>

/** Its type alone, null for any, or all about it. */
export type ParameterDeclaration =
  | ParameterType
  | null
  | {
      readonly type?: ParameterType
      readonly required?: boolean
      readonly default?: Json
      /** Never shown in logs or by the command line. */
      readonly secret?: boolean
      readonly description?: string
    }

interface ValueOf {
  string: string
  number: number
  integer: number
  boolean: boolean
  array: readonly Json[]
  object: { readonly [key: string]: Json }
}

type DeclaredValue<Declaration> = Declaration extends ParameterType
  ? ValueOf[Declaration]
  : Declaration extends { readonly type: infer Type extends ParameterType }
    ? ValueOf[Type]
    : Json

type RequiredName<Declarations> = {
  [Name in keyof Declarations]: Declarations[Name] extends { readonly required: true } ? Name : never
}[keyof Declarations]

type Flat<Value> = { [Key in keyof Value]: Value[Key] }

/** What a run is started with, from what was declared. */
export type ParametersOf<Declarations> = Flat<
  { readonly [Name in RequiredName<Declarations>]: DeclaredValue<Declarations[Name]> } & {
    readonly [Name in Exclude<keyof Declarations, RequiredName<Declarations>>]?:
      | DeclaredValue<Declarations[Name]>
      | null
      | undefined
  }
>

/** Text with an expression in it. */
export type Expression = `${string}{{${string}}}${string}`

/** A value of which every part may be an expression instead. */
export type Templated<Value> = unknown extends Value
  ? Json
  :
      | Expression
      | (Value extends string | number | boolean | null | undefined
          ? Value
          : { readonly [Key in keyof Value]: Templated<Value[Key]> })

type Action = string | Task | Workflow

type InputOf<Given> =
  Given extends Task<infer Input, unknown> ? Input : Given extends Workflow<infer Parameters> ? Parameters : unknown

interface TransitionOptions<TaskName, VarName extends string> {
  /** One expression; always, if there is none. */
  readonly when?: Expression
  readonly publish?: { readonly [Name in VarName]?: Json }
  /** Tasks of this workflow, or a command. */
  readonly do?: TaskName | readonly TaskName[] | (typeof commands)[number]
}

interface RetryOptions {
  /** How many times it is tried again. */
  readonly count?: number
  readonly delay?: Duration
  readonly backoff?: 'fixed' | 'linear' | 'exponential'
  readonly maxDelay?: Duration
  /** One expression, of `error` and `attempt`. */
  readonly when?: Expression
}

/** What the task does, or what it waits for. */
type Doing<Given> =
  | {
      /** A task, the name of a registered one, a workflow, or `core.…`. */
      readonly action: Given & Action
      readonly input?: Templated<InputOf<Given>>
      readonly waitFor?: never
    }
  | {
      readonly waitFor:
        | { readonly signal: string }
        | { readonly approval: ApprovalOptions }
        | { readonly run: Expression }
        | { readonly time: string | number }
      readonly action?: never
      readonly input?: never
    }

interface WorkflowTaskOptions<TaskName, VarName extends string> {
  /** A list, an expression that gives one, or lists by name, which are worked through side by side. */
  readonly withItems?: Expression | readonly Json[] | Readonly<Record<string, Expression | readonly Json[]>>
  readonly batchSize?: number
  readonly concurrency?: number | Expression
  readonly onItemFailure?: 'fail' | 'continue'
  readonly join?: 'all' | number
  readonly delay?: Duration
  readonly timeout?: Duration
  readonly retry?: RetryOptions
  readonly next?: readonly TransitionOptions<TaskName, VarName>[]
}

interface ApprovalOptions {
  readonly title: string
  readonly form?: Readonly<Record<string, ParameterDeclaration>>
  readonly expires?: Duration | Expression
}

export interface WorkflowOptions<Declarations, Vars, Actions> {
  readonly description?: string
  readonly parameters?: Declarations
  readonly vars?: Vars
  readonly timeout?: Duration
  readonly tasks: {
    readonly [Name in keyof Actions]: Doing<Actions[Name]> &
      WorkflowTaskOptions<keyof Actions & string, keyof Vars & string>
  }
  readonly output?: Json
}

/**
 * A workflow, written in TypeScript. It is checked at once: what is wrong is thrown as FP_WORKFLOW_INVALID, all of it.
 * Names of tasks, vars and parameters are checked by the compiler, too.
 */
export function workflow<
  const Declarations extends Readonly<Record<string, ParameterDeclaration>> = Record<never, never>,
  const Vars extends Readonly<Record<string, Json>> = Record<never, never>,
  Actions extends Readonly<Record<string, unknown>> = Record<never, never>,
>(name: string, options: WorkflowOptions<Declarations, Vars, Actions>): Workflow<ParametersOf<Declarations>> {
  const tasks: unknown = options?.tasks
  const given = isMapping(tasks) ? Object.values(tasks).map((task) => isMapping(task) && task['action']) : []
  const compiled = compileWorkflow(dataOf(name, options as unknown))
  if ('problems' in compiled) throw invalidWorkflow(String(name), compiled.problems.map(inTypeScript))
  return {
    definition: compiled.definition,
    tasks: [...new Set(given.filter(isTask))],
    workflows: [...new Set(given.filter(isWorkflow))],
  }
}

/** The error of those who cannot go on without the definition. */
export function invalidWorkflow(name: string, problems: readonly Problem[]): FencepostError {
  return new FencepostError('FP_WORKFLOW_INVALID', `${name}\n\n${problemsText(problems, undefined, '')}`)
}

/** The same data that a YAML file holds. What has another form than it should is left to the checks. */
function dataOf(name: string, options: unknown): unknown {
  if (!isMapping(options)) return options
  const { tasks, ...rest } = options
  const list = isMapping(tasks)
    ? Object.entries(tasks).map(([key, task]) => (isMapping(task) ? { name: key, ...taskData(task) } : task))
    : tasks
  return { name, ...withUnits(rest), tasks: list }
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

function inTypeScript(problem: Problem): Problem {
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

function isTask(value: unknown): value is Task {
  return isMapping(value) && typeof value['run'] === 'function' && typeof value['name'] === 'string'
}

function isWorkflow(value: unknown): value is Workflow {
  return isMapping(value) && isMapping(value['definition']) && Array.isArray(value['workflows'])
}
