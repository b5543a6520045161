import { type Actor, labGate } from '../../src/lab/actor.js'
import { scenario, step } from '../../src/lab/scenario.js'

/** The naïve worker returns the slot when it has been told that its job is finished. */
async function finishAndUnblock(worker: Actor): Promise<string> {
  const answer = await worker.finish()
  if (worker.naive)
    await worker.sql('select fencepost.give_back(array[$1], 1::smallint, 0::smallint, null, true)', [labGate])
  return answer
}

export default scenario({
  id: 'FM_018',
  name: 'Crash between finish and unblock loses the signal',
  story: 'A job is finished; its worker is killed before it has returned the slot; the next waits for nobody.',
  invariants: ['INV_004', 'INV_006', 'INV_007'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges', (p) => p.enqueueBehind({}, [0, 1])),
    step('A', 'leases the first', (a) => a.claim()),
    step('A', 'charges the card', async (a) => {
      await a.applyOnce()
      return 'charged'
    }),
    step('A', 'finishes it, and is killed', finishAndUnblock, { fault: 'killed' }),
    step('B', 'looks for work', (b) => b.claim()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...(await found.stranded()), ...found.beyond(1), ...(await found.usualSuspects())],
})
