import { scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_003',
  name: 'Stale settle hits a newer attempt',
  story: 'The first attempt is lost; while the second one runs, the first one finishes and ends the wrong lease.',
  invariants: ['INV_001', 'INV_003'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and stalls', (a) => a.claim()),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (a) => a.lose()),
    step('B', 'leases it and goes to work', (a) => a.claim()),
    step('A', 'wakes up and commits', (a) => a.commit()),
    step('B', 'commits the effect and the outcome', (a) => a.commit()),
  ],
  check: (found) => found.usualSuspects(),
})
