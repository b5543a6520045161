import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../package-root.js'
import { Actor, type ActorOptions } from './actor.js'
import type { Scenario } from './scenario.js'

/** What a stage tells an actor's process. */
export type Cue = { readonly begin: ActorOptions & { readonly bundle: string } } | { readonly step: number }

/**
 * One actor of a scenario as a process of its own, so that it can really be killed. It is told to begin a play, then
 * the number of each step to run, and answers what came of it.
 */
let actor: Actor | undefined
let scenario: Scenario | undefined

process.on('message', (cue: Cue) => {
  const done = 'begin' in cue ? begin(cue.begin) : perform(cue.step)
  done.then(
    (note) => process.send?.({ note }),
    (error: unknown) => process.send?.({ note: `error: ${error instanceof Error ? error.message : String(error)}` }),
  )
})
// Without its stage an actor has nothing to do.
process.on('disconnect', () => process.exit(0))

async function begin({ bundle, ...options }: ActorOptions & { bundle: string }): Promise<string> {
  const module = pathToFileURL(join(packageRoot, 'dist', 'failure-modes', bundle, 'scenario.js'))
  scenario = ((await import(module.href)) as { default: Scenario }).default
  await actor?.db.close()
  actor = new Actor(options)
  return 'ready'
}

async function perform(index: number): Promise<string> {
  if (!actor || !scenario) throw new Error('this actor has not begun')
  return scenario.steps[index]?.run(actor) ?? actor.claimAnd(scenario.handle)
}
