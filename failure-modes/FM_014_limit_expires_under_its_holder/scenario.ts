import { scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_014',
  name: 'Limit expires under a running holder',
  story: 'A job runs for longer than somebody thought it would; its slot expires, and another runs beside it.',
  invariants: ['INV_006', 'INV_007'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges', (p) => p.enqueueBehind({}, [0, 1])),
    step('A', 'leases the first, which takes its time', (a) => a.claim()),
    timePasses('it takes longer than most', 25_000),
    step('maintenance', 'looks for slots that are held for too long', (m) => m.overrun()),
    step('B', 'looks for work', (b) => b.heedAndClaim()),
    step('A', 'finishes', (a) => a.applyAndFinish()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...found.beyond(1), ...(await found.usualSuspects())],
})
