import { scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_020',
  name: 'Double release by a presumed-dead worker',
  story: 'A stalled worker’s job goes to another; it wakes up and returns a slot that is no longer its own.',
  invariants: ['INV_006', 'INV_007'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges', (p) => p.enqueueBehind({}, [0, 1])),
    step('A', 'leases the first and stalls', (a) => a.claim()),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (b) => b.lose()),
    step('B', 'leases it', (b) => b.claim()),
    step('A', 'wakes up and says that it is done', (a) => a.applyAndFinish()),
    step('C', 'looks for work', (c) => c.heedAndClaim()),
    step('B', 'finishes it', (b) => b.applyAndFinish()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...found.beyond(1), ...(await found.usualSuspects())],
})
