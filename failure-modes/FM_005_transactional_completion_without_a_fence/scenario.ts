import { scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_005',
  name: 'Transactional completion without a fence',
  story: 'A job is rescued; its old worker completes it in a transaction that commits its effects; the job runs again.',
  invariants: ['INV_001'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and stalls', (a) => a.claim()),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (a) => a.lose()),
    step('A', 'wakes up and commits', (a) => a.commit()),
    step('B', 'leases it', (a) => a.claim()),
    step('B', 'commits the effect and the outcome', (a) => a.commit()),
  ],
  check: (found) => found.usualSuspects(),
})
