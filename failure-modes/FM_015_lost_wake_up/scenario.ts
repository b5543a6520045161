import { goesOn, scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_015',
  name: 'Lost wake-up between enqueue and unblock',
  story: 'An enqueuer reads "full"; the holder returns its slot and finds no waiter; the enqueuer commits as waiting.',
  invariants: ['INV_004', 'INV_007'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues a charge', (p) => p.enqueueBehind({}, [0])),
    step('A', 'leases it', (a) => a.claim()),
    step('B', 'enqueues another and finds the card busy', (b) => b.enqueueBehind({}, [1]), { pause: 'held' }),
    step('A', 'finishes, and looks who is next', (a) => a.applyAndFinish()),
    goesOn('B', 'commits as waiting'),
    step('C', 'looks for work', (c) => c.heedAndClaim()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...(await found.stranded()), ...found.beyond(1), ...(await found.usualSuspects())],
})
