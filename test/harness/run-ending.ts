import { setupRunMoves } from './runs.js'
import { Session } from './session.js'

const workflows = {
  dispatches: `
name: chain
tasks:
  - { name: before, action: before, next: [{ do: after }] }
  - { name: after, action: after }
`,
  ends: `
name: single
tasks: [{ name: before, action: before }]
`,
}

/** A run whose task has ended: a worker has decided what follows, or that the run has ended, and not done it yet. */
export async function setupRunEnding(what: keyof typeof workflows) {
  const world = await setupRunMoves()
  const run = await world.start(workflows[what])
  await world.steps.advanceAll()
  await world.runItems(['before'])
  const session = await Session.open(world)
  const hand = world.stepsOn(session)
  await hand.take()
  return {
    ...world,
    run,
    session,
    hand,
    /** How many jobs there are of what follows. */
    made: () => world.jobsOf('after'),
    /** What is left to do of a cancel. */
    async finishCancel(): Promise<void> {
      await world.advance(11_000)
      await world.steps.advanceAll()
    },
  }
}
