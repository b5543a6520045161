import type { Json } from '../job/json.js'
import type { Plan } from './plan.js'
import type { Letter, Run, Status, TaskRun, Trouble } from './run.js'

/** What an advance decides on. */
export interface Situation {
  readonly run: Run
  readonly plan: Plan
  readonly active: readonly (TaskRun & ActiveDetail)[]
  readonly letters: readonly Letter[]
  readonly nowMs: number
  readonly known: Known
  /** The run is to fail: what it came to before could not be stored. */
  readonly fault?: Trouble
  /** Whether the inputs of items have taken long enough: the rest is for the next advance. */
  readonly isLate?: () => boolean
}

/** `slice`: the items to make next; `ending`: what its only item came to. */
export interface ActiveDetail {
  readonly slice: readonly Json[] | null
  readonly ending: { readonly result: Json; readonly error: Json } | null
}

/** What is looked up only when a decision needs it. */
export interface Known {
  /** What a task run that has ended came to; undefined if it has not been looked up. */
  result(task: string, ordinal: number): Ended | undefined
  /** The newest version of a workflow; undefined if it has not been looked up, null if there is none. */
  workflow(name: string): StartableWorkflow | null | undefined
}

export interface StartableWorkflow {
  readonly version: number
  readonly needs: readonly string[]
  /** The parameters with their defaults, or what is wrong with them. */
  check(parameters: Json): { readonly parameters: Readonly<Record<string, Json>> } | { readonly problem: string }
}

export interface Ended {
  readonly result: Json
  readonly error: Json
  /** Of a task with items. */
  readonly items?: readonly { readonly status: Status; readonly result: Json; readonly error: Json }[]
}

/** Thrown when a decision needs to know more: look it up and decide again. */
export class Missing {
  readonly what: { readonly task: string; readonly ordinal: number } | { readonly workflow: string }

  constructor(what: Missing['what']) {
    this.what = what
  }
}
