import { scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_019',
  name: 'Slot not returned on give-back',
  story: 'A job is given back and dispatched anew while it still holds its slot, and waits for itself.',
  invariants: ['INV_004', 'INV_006', 'INV_007'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges', (p) => p.enqueueBehind({}, [0, 1])),
    step('A', 'leases the first', (a) => a.claim()),
    step('A', 'shuts down, and gives it back', async (a) => `${await a.release()}: ${await a.places([0, 1])}`),
    step('B', 'looks for work', (b) => b.heedAndClaim()),
    step('B', 'finishes, if it has any', (b) => (b.lease ? b.applyAndFinish() : Promise.resolve('nothing to finish'))),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...(await found.stranded()), ...found.beyond(1), ...(await found.usualSuspects())],
})
