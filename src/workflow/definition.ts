import type { Json } from '../job/json.js'

/**
 * A workflow as it is stored: checked, with every default filled in, durations in milliseconds, lists always lists. YAML
 * and the builder both come to this. A `Template` is JSON whose strings may hold {{ expressions }}.
 */
export interface Definition {
  readonly name: string
  readonly description: string | null
  readonly parameters: Readonly<Record<string, Parameter>>
  /** Evaluated once, at the start, with the parameters. */
  readonly vars: Readonly<Record<string, Template>>
  readonly timeoutMs: number | null
  readonly tasks: readonly TaskDefinition[]
  /** Evaluated when the run ends, however it ends; null if the run has none. */
  readonly output: Template
}

type Template = Json

export interface Parameter {
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | null
  readonly required: boolean
  /** undefined if there is none; not a template. */
  readonly default?: Json
  /** Never shown in logs or by the command line. */
  readonly secret: boolean
  readonly description: string | null
}

export interface TaskDefinition {
  readonly name: string
  /**
   * A registered task; `workflow.<name>`; `core.echo`, `core.noop`, `core.fail`, `core.sleep`, `core.http`, `core.ask`;
   * or what `wait_for` compiles to: `wait.signal`, `wait.approval`, `wait.run`, `wait.time`.
   */
  readonly action: string
  readonly input: Template
  /** null: it runs once per inbound branch. A number counts edges that fired. */
  readonly join: 'all' | number | null
  readonly items: Items | null
  readonly retry: Retry | null
  /** Of each try of the action. */
  readonly timeoutMs: number | null
  /** Before the action begins. */
  readonly delayMs: number
  readonly next: readonly Transition[]
}

/** `with_items` */
export interface Items {
  /** One list (an array, or a string that is one expression), or, if `zipped`, an object of lists by name. */
  readonly of: Template
  readonly zipped: boolean
  readonly batchSize: number | null
  /** A number, or a string that is one expression; null: all at once. */
  readonly concurrency: number | string | null
  readonly onFailure: 'fail' | 'continue'
}

export interface Retry {
  /** How many times it is tried again. */
  readonly count: number
  readonly delayMs: number
  readonly backoff: 'fixed' | 'linear' | 'exponential'
  readonly maxDelayMs: number
  /** A string that is one expression, of `error` and `attempt` only; null: always. */
  readonly when: string | null
}

export interface Transition {
  /** A string that is one expression; null: always. */
  readonly when: string | null
  readonly publish: Readonly<Record<string, Template>>
  /** Names of tasks, or one of `commands`. Empty: `continue`. */
  readonly do: readonly string[]
}

/**
 * `noop`: nothing follows, and a failure counts as dealt with. `continue`: nothing follows, and a failure stays one.
 * `fail`: the run fails. `retry`: the task is activated again.
 */
export const commands = ['noop', 'continue', 'fail', 'retry'] as const
