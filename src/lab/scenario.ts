import type { Actor } from './actor.js'
import type { Inspection } from './inspection.js'
import type { Decide } from './run-steps.js'

/** One thing that one actor does, in a process of its own. */
export interface Step {
  /** The actor's name. The clock is no process: its steps set the database's time ahead. */
  readonly by: string
  /** What the timeline shows. */
  readonly does: string
  /** Answers what came of it, for the timeline. */
  readonly run: (actor: Actor) => Promise<string>
  /**
   * `held`: the step is begun and left waiting, at a pause point of a naïve function or for somebody's lock, or runs to
   * its end where there is none; `stopped`: the process is stopped (SIGSTOP) with the step before it; `released`: what
   * this actor was held or stopped in goes on and is waited for first. All pause points open then.
   */
  readonly pause?: 'held' | 'stopped' | 'released'
  /** What goes wrong when the step's first commit has reached the server and its reply has not come back. */
  readonly fault?: 'reply_cut' | 'killed'
  /** It only sets the scene: a crash in it is another failure's story, and no fault point of this one. */
  readonly isScene?: boolean
}

/** The one interleaving that shows a failure, written once and played with and without the guard. */
export interface Scenario {
  readonly id: string
  readonly name: string
  /** One line for a list. */
  readonly story: string
  readonly invariants: readonly string[]
  /** How many jobs the actors speak of; their ids are made anew for each play. */
  readonly jobs: number
  /** How many runs of workflows, if any; the same goes for their ids. */
  readonly runs?: number
  readonly steps: readonly Step[]
  /** Without the guard: what follows from what a run is told, where the guard is in that decision. */
  readonly naiveDecide?: Decide
  /** What any worker does with a job that it finds and leases; without it, it commits the effect and the outcome. */
  readonly handle?: (worker: Actor) => Promise<string>
  /** What is broken at the end, in words; nothing if the invariant held. */
  readonly check: (inspection: Inspection) => Promise<string[]>
}

export function scenario(definition: Scenario): Scenario {
  return definition
}

export function step(by: string, does: string, run: Step['run'], more: Pick<Step, 'pause' | 'fault'> = {}): Step {
  return { by, does, run, ...more }
}

/** What has to be there before the story begins. */
export function scene(by: string, does: string, run: Step['run']): Step {
  return { by, does, run, isScene: true }
}

export const clockName = 'the clock'

/** The database's time goes ahead. */
export function timePasses(does: string, ms: number): Step {
  return step(clockName, does, async (actor) => {
    await actor.advance(ms)
    return `+${ms / 1000} s`
  })
}

/** What a held or stopped step of this actor goes on to do. */
export function goesOn(by: string, does: string): Step {
  return step(by, does, async () => '', { pause: 'released' })
}
