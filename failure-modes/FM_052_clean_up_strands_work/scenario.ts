import { goesOn, scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_052',
  name: 'Clean-up strands work',
  story:
    'A collector finds a gate that nobody uses; a job is let in; the collector removes the gate, and with it the count.',
  invariants: ['INV_006', 'INV_007'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues a charge', (p) => p.enqueueBehind({}, [0])),
    step('A', 'does it', (a) => a.claimAnd((worker) => worker.applyAndFinish())),
    step('maintenance', 'looks for gates that nobody uses', (m) => m.overrun(), { pause: 'held' }),
    step('producer', 'enqueues a second', (p) => p.enqueueBehind({}, [1])),
    step('B', 'leases it', (b) => b.claim()),
    goesOn('maintenance', 'removes what it has found'),
    step('producer', 'enqueues a third', (p) => p.enqueueBehind({}, [2])),
    step('C', 'looks for work', (c) => c.heedAndClaim()),
    step('B', 'finishes', (b) => b.applyAndFinish()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...found.beyond(1), ...(await found.stranded()), ...(await found.usualSuspects())],
})
