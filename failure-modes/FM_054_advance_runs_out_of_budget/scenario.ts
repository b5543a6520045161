import type { Actor } from '../../src/lab/actor.js'
import { scenario, scene, step, timePasses } from '../../src/lab/scenario.js'

const payouts = `
name: payouts
tasks: [{ name: pay, action: pay }]
`
const month = `
name: month
tasks: [{ name: payouts, action: workflow.payouts }]
`
/** A run that was taken counts as busy for 10 s. */
const busyMs = 11_000

/** The parent makes the sub-run, and has nothing more to do before that has ended. */
async function startBoth(producer: Actor): Promise<string> {
  await producer.runs.deploy(payouts)
  await producer.runs.start(producer.runIds[0] as string, month)
  await producer.runs.take()
  return producer.runs.advance()
}

/** Each takes the run, and is gone before it has advanced it. */
async function loseMore(deploys: Actor, times: number): Promise<string> {
  for (let n = 0; n < times; n++) {
    await deploys.runs.take()
    await deploys.advance(busyMs)
  }
  return `${times} times`
}

export default scenario({
  id: 'FM_054',
  name: 'Advance runs out of budget',
  story:
    'Every process that begins to advance a run is killed; after so many nobody may try any more, and nobody says so.',
  invariants: ['INV_004', 'INV_005'],
  jobs: 0,
  runs: 1,
  steps: [
    scene('producer', 'starts a run with a sub-run', startBoth),
    step('A', 'takes the sub-run, and is killed', (a) => a.runs.take(), { fault: 'killed' }),
    timePasses('11 s pass', busyMs),
    scene('deploys', 'kill whoever takes it', (d) => loseMore(d, 19)),
    step('B', 'looks for runs with something to do', (b) => b.runs.take()),
    step('C', 'goes on with what was told', (c) => c.runs.advanceAll()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const runs = await found.sql<{ workflow: string; state: string; tries: number }>(
      `select workflow, state, advance_tries as tries from fencepost.run`,
    )
    const lost = runs.filter(({ state, tries }) => state === 'running' && tries >= 20).length
    const early = runs.filter(
      ({ workflow, state, tries }) => workflow === 'payouts' && state === 'failed' && tries < 20,
    )
    return [
      ...(lost > 0 ? ['INV_005: nobody may advance a run any more, and it says that it is running'] : []),
      ...early.map(({ tries }) => `INV_004: a run was given up after ${tries} tries`),
      ...(await found.usualSuspects()),
    ]
  },
})
