import { freshRules } from './fresh-rules.js'
import { gateRules } from './gate-rules.js'
import type { History } from './history.js'
import { jobRules } from './job-rules.js'
import { messageRules, runRules, stepRules } from './effect-rules.js'
import type { Way } from '../stored-by.js'

export interface Violation {
  readonly rule: string
  readonly what: string
}

/** A rule names each thing that breaks it. */
export type Rule = (history: History, final: FinalState) => Iterable<string>

export interface EndedJob {
  readonly outcome: string | null
  readonly tries: number
  readonly failures: number
  readonly losses: number
  readonly releases: number
}

/** What the database holds when everything has come to rest. */
export interface FinalState {
  /** All jobs but the items of runs and messages, by number; the outcome is null if there is none. */
  readonly jobs: ReadonlyMap<number, EndedJob>
  /** Those of them that have an id of the engine's: two with one number are a double. */
  readonly fresh: readonly { readonly n: number; readonly id: string }[]
  /** How many jobs were stored in ways of which every run has to see some. */
  readonly storedBy: Readonly<Record<Way, number>>
  /** Rows that handlers committed, by number. */
  readonly effects: ReadonlyMap<number, number>
  /** The states of runs, by number. */
  readonly runs: ReadonlyMap<number, string>
  /** Rows that items committed: `run/part` and how many. */
  readonly partEffects: ReadonlyMap<string, number>
  readonly messages: readonly {
    readonly m: number
    readonly id: string
    readonly outcome: string | null
    readonly finishedAtMs: number | null
  }[]
  /** Leases that ran out while their handler ran; times by the clock on the wall. */
  readonly lost: readonly {
    readonly n: number | string
    readonly pid: number
    readonly claimedAtMs: number
    readonly endedAtMs: number
  }[]
  /** Of the server's log. */
  readonly complaints: readonly string[]
  readonly audit: readonly string[]
  /** Processes that ended by themselves. */
  readonly accidents: readonly string[]
}

const shownMax = 10

export const rules: Readonly<Record<string, Rule>> = {
  ...jobRules,
  ...freshRules,
  ...gateRules,
  ...stepRules,
  ...runRules,
  ...messageRules,
  'the server complained': (_, { complaints }) => complaints,
  'the audit finds': (_, { audit }) => audit,
  'a process ended by itself': (_, { accidents }) => accidents,
}

export function check(history: History, final: FinalState): Violation[] {
  return Object.entries(rules).flatMap(([rule, broken]) => {
    const all = [...broken(history, final)]
    const shown = all.slice(0, shownMax).map((what) => ({ rule, what }))
    if (all.length > shownMax) shown.push({ rule, what: `… and ${all.length - shownMax} more` })
    return shown
  })
}
