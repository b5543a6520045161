import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../package-root.js'
import { Actor, type ActorOptions } from './actor.js'
import type { RunStepsOptions } from './run-steps.js'
import type { Scenario } from './scenario.js'

/** What a stage tells an actor's process. */
export interface Cue {
  readonly id: number
  readonly what: { readonly begin: ActorOptions & { readonly bundle: string } } | { readonly step: number }
}

export interface Answer {
  readonly id: number
  readonly note: string
  /** The jobs whose handlers are at work when the step has ended, and those that were at the busiest moment of it. */
  readonly running: readonly string[]
  readonly ran: readonly string[]
}

/**
 * One actor of a scenario as a process of its own, so that it can really be killed. It is told to begin a play, then
 * the number of each step to run, and answers what came of it.
 */
let actor: Actor | undefined
let scenario: Scenario | undefined

process.on('message', ({ id, what }: Cue) => {
  const done = 'begin' in what ? begin(what.begin) : perform(what.step)
  const answer = (note: string) => {
    const { running = [], ran = [] } = actor ?? {}
    process.send?.({ id, note, running: [...running], ran: [...ran] } satisfies Answer)
  }
  done.then(answer, (error: unknown) => answer(`error: ${error instanceof Error ? error.message : String(error)}`))
})
// Without its stage an actor has nothing to do.
process.on('disconnect', () => process.exit(0))

async function begin({ bundle, ...options }: ActorOptions & { bundle: string }): Promise<string> {
  const module = pathToFileURL(join(packageRoot, 'dist', 'failure-modes', bundle, 'scenario.js'))
  scenario = ((await import(module.href)) as { default: Scenario }).default
  await actor?.db.close()
  actor = new Actor(options, options.runIds.length > 0 ? await runSteps(scenario, options) : undefined)
  return 'ready'
}

/** The workflow engine is a third of what this process would load, and few scenarios have runs. */
async function runSteps({ naiveDecide }: Scenario, { naive }: ActorOptions) {
  const { RunSteps } = await import('./run-steps.js')
  const decide = naive && naiveDecide ? { decide: naiveDecide } : {}
  return (options: RunStepsOptions) => new RunSteps({ ...options, ...decide })
}

async function perform(index: number): Promise<string> {
  if (!actor || !scenario) throw new Error('this actor has not begun')
  actor.ran = new Set(actor.running)
  return scenario.steps[index]?.run(actor) ?? actor.takeUp(scenario.handle)
}
