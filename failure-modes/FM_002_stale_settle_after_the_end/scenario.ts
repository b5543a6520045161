import { scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_002',
  name: 'Stale settle after the end',
  story: 'The first attempt stalls, the second succeeds, and then the first one reports its failure.',
  invariants: ['INV_003'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and stalls', (a) => a.claim()),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (a) => a.lose()),
    step('B', 'leases it', (a) => a.claim()),
    step('B', 'commits the effect and the outcome', (a) => a.commit()),
    step('A', 'wakes up and reports a failure', (a) => a.fail()),
  ],
  check: async (found) => [
    ...(await found.successUndone('B', 'commits the effect and the outcome')),
    ...(await found.usualSuspects()),
  ],
})
