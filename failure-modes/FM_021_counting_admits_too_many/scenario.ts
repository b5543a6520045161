import { goesOn, scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_021',
  name: 'Counting admits too many',
  story: 'Two producers count the same holders, both find room for one more, and both are let in.',
  invariants: ['INV_006', 'INV_007'],
  jobs: 2,
  steps: [
    step('operator', 'lets one charge at a time to the card', (o) => o.setLimit(1)),
    step('worker 1', 'hears of it', (w) => w.heed()),
    step('A', 'enqueues a charge, and counts', (a) => a.enqueueBehind({}, [0]), { pause: 'held' }),
    step('B', 'enqueues another, and counts', (b) => b.enqueueBehind({}, [1])),
    goesOn('A', 'acts on its count'),
    step('worker 1', 'leases a charge', (w) => w.claim()),
    step('worker 2', 'leases a charge', (w) => w.claim()),
    step('worker 1', 'commits', (w) => w.commit()),
  ],
  check: async (found) => [...found.beyond(1), ...(await found.usualSuspects())],
})
