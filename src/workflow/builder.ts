import { FencepostError, shown } from '../errors.js'
import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import type { Duration } from '../task/duration.js'
import type { Task } from '../task/task.js'
import { actionsOf, asBuilderSpells, builderData, isTask, isWorkflow } from './builder-data.js'
import { compileWorkflow } from './compile.js'
import type { commands, Parameter } from './definition.js'
import type { Problem } from './problem.js'
import { problemsText } from './problems-text.js'
import type { Workflow } from './workflow.js'

export type { Workflow }

type ParameterType = NonNullable<Parameter['type']>

/** Its type alone, null for any, or all about it. */
export type ParameterDeclaration = ParameterType | null | ParameterOptions

interface ParameterOptions {
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
}[keyof Declarations & string]

/** No parameters, no vars: there is no name that could be one. */
type Nothing = { readonly [none]?: never }
declare const none: unique symbol

type Flat<Value> = { [Key in keyof Value]: Value[Key] }

/** What a run is started with, from what was declared. */
export type ParametersOf<Declarations> = [keyof Declarations & string] extends [never]
  ? Readonly<Record<string, never>>
  : Flat<
      { readonly [Name in RequiredName<Declarations>]: DeclaredValue<Declarations[Name]> } & {
        readonly [Name in Exclude<keyof Declarations & string, RequiredName<Declarations>>]?:
          | DeclaredValue<Declarations[Name]>
          | null
          | undefined
      }
    >

/** A misspelt member would otherwise be taken for part of the type that is inferred. */
type WithoutOthers<Declarations> = {
  readonly [Name in keyof Declarations]: Declarations[Name] extends object
    ? { readonly [Key in Exclude<keyof Declarations[Name], keyof ParameterOptions>]: never }
    : unknown
}

/** Text with an expression in it. */
export type ExpressionText = `${string}{{${string}}}${string}`

/** A value of which every part may be an expression instead. */
export type Templated<Value> = Json extends Value
  ? Json
  :
      | ExpressionText
      | (Value extends string | number | boolean | null | undefined
          ? Value
          : { readonly [Key in keyof Value]: Templated<Value[Key]> })

type Action = string | Task | Workflow

type InputOf<Given> =
  Given extends Task<infer Input, unknown> ? Input : Given extends Workflow<infer Parameters> ? Parameters : unknown

interface TransitionOptions<TaskName, VarName extends string> {
  /** One expression; always, if there is none. */
  readonly when?: ExpressionText
  readonly publish?: [VarName] extends [never] ? Readonly<Record<string, never>> : { readonly [Name in VarName]?: Json }
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
  readonly when?: ExpressionText
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
        | { readonly run: ExpressionText }
        | { readonly time: string | number }
      readonly action?: never
      readonly input?: never
    }

interface WorkflowTaskOptions<TaskName, VarName extends string> {
  /** A list, an expression that gives one, or lists by name, which are worked through side by side. */
  readonly withItems?: ExpressionText | readonly Json[] | Readonly<Record<string, ExpressionText | readonly Json[]>>
  readonly batchSize?: number
  readonly concurrency?: number | ExpressionText
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
  readonly expires?: Duration | ExpressionText
}

export interface WorkflowOptions<Declarations, Vars, Actions> {
  readonly description?: string
  readonly parameters?: Declarations & WithoutOthers<Declarations>
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
  Actions extends Readonly<Record<string, unknown>>,
  const Declarations extends Readonly<Record<string, ParameterDeclaration>> = Nothing,
  const Vars extends Readonly<Record<string, Json>> = Nothing,
>(name: string, options: WorkflowOptions<Declarations, Vars, Actions>): Workflow<ParametersOf<Declarations>> {
  const compiled = compileWorkflow(builderData(name, options))
  if ('problems' in compiled) throw invalidWorkflow(name, compiled.problems.map(asBuilderSpells))
  const actions = actionsOf(options)
  return {
    definition: compiled.definition,
    tasks: [...new Set(actions.filter(isTask))],
    workflows: [...new Set(actions.filter(isWorkflow))],
  }
}

/** The error of those who cannot go on without the definition. */
function invalidWorkflow(name: unknown, problems: readonly Problem[]): FencepostError {
  const called = typeof name === 'string' && name.length <= limits.nameLengthMax ? name : shown(name)
  return new FencepostError('FP_WORKFLOW_INVALID', `${called}\n\n${problemsText(problems, undefined, '')}`)
}
