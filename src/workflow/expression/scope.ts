import type { Json } from '../../job/json.js'

export type Status = 'succeeded' | 'failed' | 'timed_out' | 'cancelled'

/** The values of the names. One that is not given is null. */
export interface Scope {
  readonly parameters?: Json
  readonly vars?: Json
  readonly tasks?: Json
  readonly item?: Json
  readonly index?: number
  readonly run?: Json
  readonly error?: Json
  readonly attempt?: number
  /** Of the task whose transitions are evaluated. */
  readonly status?: Status
  readonly result?: Json
}

/** `ending` stands for the functions succeeded(), failed(), timed_out() and result(). */
export type ScopeName = 'parameters' | 'vars' | 'tasks' | 'item' | 'index' | 'run' | 'error' | 'attempt' | 'ending'

export type ValueName = Exclude<ScopeName, 'ending'>

/** Where each name is known, as a message says it. */
export const knownWhere: Readonly<Record<ScopeName, string>> = {
  parameters: 'outside of `retry.when`',
  vars: 'once the run has begun: not where `vars` get their first values, nor in `retry.when`',
  tasks: 'once the run has begun: not where `vars` get their first values, nor in `retry.when`',
  item: 'in the `input` of a task with `with_items`',
  index: 'in the `input` of a task with `with_items`',
  run: 'outside of `retry.when`',
  error: 'in `next` of a task and in `retry.when`',
  attempt: 'in `retry.when`',
  ending: 'in `next` of a task',
}

/** The functions that `ending` stands for. */
export const endingFunctions = ['succeeded', 'failed', 'timed_out', 'result'] as const

export type EndingFunction = (typeof endingFunctions)[number]
