import { FencepostError } from '../errors.js'
import { type Json, jsonText } from '../job/json.js'
import { limits } from '../limits.js'
import type { Duration } from '../task/duration.js'
import { checkedWorkflow } from './checked-workflow.js'
import type { Definition } from './definition.js'
import { Field } from './field.js'
import { playInMemory, type Played, type Scene } from './memory-play.js'
import { ProblemLog } from './problem.js'
import { problemsText } from './problems-text.js'
import { compileScene } from './rehearsal-scene.js'
import type { RunState, Trouble } from './run.js'
import type { Workflow } from './workflow.js'

/** What comes of one try of a task: success, if nothing else is said. */
export interface MockedResult {
  readonly result?: unknown
  readonly fail?: string | { readonly message: string; readonly code?: string }
  readonly timeOut?: true
  /** How long it takes; longer than the task's timeout is a timeout. */
  readonly after?: Duration
}

/** One result, or those of successive tries; the last one holds for all that follow. */
export type MockedResults = MockedResult | readonly MockedResult[]

export interface MockedItems extends MockedResult {
  /** By the position of the item, from 0. */
  readonly items?: Readonly<Record<number, MockedResults>> | readonly MockedResults[]
}

export interface MockedTask extends MockedItems {
  /** By activation, from 1. */
  readonly ordinals?: Readonly<Record<number, MockedItems | readonly MockedResult[]>>
}

/** What a run of a workflow meets on its way. */
export interface RehearsalCase {
  readonly parameters?: Readonly<Record<string, unknown>>
  /** By task. One that is not here succeeds with the result null; so do sub-workflows, which are not run. */
  readonly results?: Readonly<Record<string, MockedTask | readonly MockedResult[]>>
  /** By task: the values of the form, or a list of them if it asks more than once. What has none is not answered. */
  readonly answers?: Readonly<
    Record<string, Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[]>
  >
  readonly signals?: readonly { readonly name: string; readonly payload?: unknown; readonly after?: Duration }[]
  /** When the run starts; midnight of 2000-01-01 if it matters to nobody. */
  readonly now?: string
}

export interface Rehearsed {
  /** `running` if it waits for what never comes; `waits` says where. */
  readonly state: RunState
  /** The tasks in the order in which they began, as often as they did. */
  readonly path: readonly string[]
  readonly output: Json
  readonly vars: Readonly<Record<string, Json>>
  readonly error: Trouble | null
  /** The tasks that have not ended. */
  readonly waits: readonly string[]
  /** What each task was called with the last time: its input, or those of its items. */
  readonly inputs: Readonly<Record<string, Json>>
}

/** A workflow as workflow() or a file gives it. */
export interface Rehearsable {
  readonly definition: Definition
  readonly workflows?: readonly Rehearsable[]
}

/**
 * Runs a workflow with mocked results, without a database and without workers: what follows from what is decided by the
 * function that the workers use. Time is made up: a day of waiting takes no time. The same case gives the same, always.
 */
export function rehearse(workflow: Rehearsable, given: RehearsalCase = {}): Rehearsed {
  const { definition, workflows = [] } = checkedWorkflow(workflow as Workflow)
  const plain: unknown = JSON.parse(jsonText(given, 'the case', limits.payloadBytesMax))
  const log = new ProblemLog(plain, undefined)
  const scene = compileScene(new Field(plain, [], log), definition, 'TypeScript')
  if (log.problems.length > 0 || !scene) {
    throw new FencepostError(
      'FP_REHEARSAL_INVALID',
      `workflow ${definition.name}\n\n${problemsText(log.problems, undefined, '')}`,
    )
  }
  return rehearsed(definition, {
    ...scene,
    declared: new Map(workflows.map((each) => [each.definition.name, each.definition])),
  })
}

export function rehearsed(definition: Definition, scene: Scene): Rehearsed {
  const { taskRuns, ...played }: Played = playInMemory(definition, scene)
  const hasItems = new Set(definition.tasks.filter(({ items }) => items !== null).map(({ name }) => name))
  return {
    ...played,
    path: taskRuns.map(({ task }) => task),
    waits: taskRuns.filter(({ ended }) => !ended).map(({ task }) => task),
    inputs: Object.fromEntries(
      taskRuns
        .filter(({ inputs }) => inputs.length > 0)
        .map(({ task, inputs }) => [task, hasItems.has(task) ? inputs : (inputs[0] as Json)]),
    ),
  }
}
