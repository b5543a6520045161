import type { Json } from '../job/json.js'

export const runStates = ['running', 'paused', 'failing', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

/** How a task run ended. */
export type Status = 'succeeded' | 'failed' | 'timed_out' | 'cancelled'

/** What an ending without success tells. */
export interface Trouble {
  readonly message: string
  readonly code?: string
  readonly [detail: string]: Json | undefined
}

/** A run, as an advance finds it. */
export interface Run {
  readonly id: string
  readonly revision: number
  readonly workflow: string
  readonly version: number
  readonly state: RunState
  readonly cancelMode: 'allow_finish' | 'cancel_running' | null
  readonly parameters: Readonly<Record<string, Json>>
  readonly vars: Readonly<Record<string, Json>>
  readonly progress: Partial<Progress>
  readonly error: Trouble | null
}

/** What a run remembers beside its vars. Bounded by the definition, but for letters that came too early. */
export interface Progress {
  /** How many activations each task has had. */
  readonly ordinals: Record<string, number>
  /** How often each join has fired, and how often each edge into it. */
  readonly joins: Record<string, { done: number; readonly fired: Record<string, number> }>
  /** The activation of each task that ended last. */
  readonly latest: Record<string, { readonly ordinal: number; readonly status: Status }>
  /** Signals that nothing waited for yet, oldest first. */
  readonly signals: { readonly name: string; readonly payload: Json }[]
  /** Answers to questions that were not asked yet, by task. */
  readonly answers: Record<string, Json>
  /** The last signals and answers that were heard: one that is told twice counts once. */
  readonly heard: string[]
  /** The workflows of the runs that this one is an item of, the outermost first. */
  readonly callers: readonly string[]
  /** Parameters that hold a secret of these runs. */
  readonly secrets: readonly string[]
  /** What ended when nothing could follow any more, or was stopped: a rerun goes on with it. */
  cutOff: { readonly task: string; readonly ordinal: number; readonly status: Status }[]
}

/** A task run that has not ended. */
export interface TaskRun {
  readonly task: string
  readonly ordinal: number
  readonly action: string
  state: 'delayed' | 'running' | 'waiting' | Status
  total: number
  dispatched: number
  succeeded: number
  failed: number
  readonly stopped: number
  stop: 'unstarted' | 'all' | null
  concurrency: number | null
  readonly via: string | null
  readonly viaOrdinal: number | null
  /** What a wait waits for, evaluated. */
  input: Json
  result: Json
  error: Trouble | null
}

/** What a run is told. */
/** Letters of items of a list that succeeded come together. */
export type Letter = { readonly ids: readonly number[] } & (
  | { readonly kind: 'start' }
  | {
      readonly kind: 'item'
      readonly task: string
      readonly ordinal: number
      readonly item: number
      readonly payload: Ending
    }
  | { readonly kind: 'timer'; readonly task?: string; readonly ordinal?: number; readonly payload: TimerKind }
  | {
      readonly kind: 'signal' | 'answer'
      readonly task: string
      /** Of the question that is answered. */
      readonly ordinal?: number | null
      readonly payload: { readonly id: string; readonly said: Json }
    }
  | {
      readonly kind: 'watched'
      readonly task: string
      readonly ordinal: number
      readonly payload: Ending & { run: string }
    }
  | { readonly kind: 'rerun'; readonly task: string; readonly ordinal: number; readonly payload: boolean }
)

/** `delay`: before the action; `due`: the time that is waited for; `timeout`, `deadline`: of the try, of the run. */
type TimerKind = 'delay' | 'due' | 'timeout' | 'deadline' | 'watch'

/** How an item ended. */
export interface Ending {
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | 'discarded' | 'expired' | 'missing'
  readonly reason?: string | null
  readonly code?: string | number | null
  readonly message?: string | null
}

/** The same, with what it came to. */
export interface ItemEnding extends Ending {
  readonly result?: Json
  readonly error?: Json
}

/** What an advance wants done, all of it in one transaction, if the run is still as it was. */
export interface Change {
  readonly run: string
  readonly revision: number
  readonly read: readonly number[]
  readonly state: RunState
  readonly vars?: Readonly<Record<string, Json>>
  readonly progress: Progress
  readonly output: Json
  readonly error: Trouble | null
  readonly begin: readonly TaskRunChange[]
  readonly update: readonly TaskRunChange[]
  readonly timers: readonly { task: string | null; ordinal: number | null; kind: TimerKind; ms?: number; at?: string }[]
  readonly watch: readonly { task: string; ordinal: number; run: string }[]
  readonly runs: readonly NewRun[]
  readonly jobs: readonly ItemJobs[]
  /** There are more items to make. */
  readonly more: boolean
}

/** `items`: of a list that begins now. */
export type TaskRunChange = TaskRun & { readonly ended: boolean; readonly items: readonly Json[] | null }

/** A run that is an item. */
export interface NewRun {
  readonly task: string
  readonly ordinal: number
  readonly item: number
  readonly workflow: string
  readonly version: number
  readonly needs: readonly string[]
  readonly parameters: Readonly<Record<string, Json>>
  readonly progress: Pick<Progress, 'callers' | 'secrets'>
}

/** The jobs of items that follow each other. */
export interface ItemJobs {
  readonly task: string
  readonly ordinal: number
  readonly action: string
  readonly from: number
  readonly inputs: readonly Json[]
  readonly delayMs: number
  /** null: what the task says. */
  readonly failuresMax: number | null
  readonly policy: JobPolicy | null
  /** How many of them run at a time; null: all. */
  readonly concurrency: number | null
}

/** What a workflow says of an item's job instead of its task; stored with the job. */
export interface JobPolicy {
  /** If it does not succeed, no other item is let through the gate. */
  readonly halt?: true
  readonly timeoutMs?: number
  /** Where its input holds secrets: they are not for logs. */
  readonly secrets?: readonly SecretPlace[]
  readonly retry?: {
    readonly limit: number
    readonly delayMs: number
    readonly delayMsMax: number
    readonly backoff: 'fixed' | 'linear' | 'exponential'
    readonly when?: string
  }
}

/** `around`: the texts before, between and after the expressions that the string there is made of. */
export interface SecretPlace {
  readonly path: readonly (string | number)[]
  readonly around: readonly string[]
}
