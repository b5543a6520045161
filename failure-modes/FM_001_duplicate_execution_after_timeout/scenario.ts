import { scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_001',
  name: 'Duplicate execution caused by retry after timeout',
  story: 'A worker times out, its job is given to another, and both apply the effect.',
  invariants: ['INV_001', 'INV_002', 'INV_004'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and stalls', (a) => a.claim()),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (a) => a.lose()),
    step('B', 'leases it', (a) => a.claim()),
    step('B', 'commits the effect and the outcome', (a) => a.commit()),
    step('A', 'wakes up and commits, too', (a) => a.commit()),
  ],
  check: async (found) => {
    const successes = [...found.notes.values()].filter((note) => note === 'finished').length
    return [
      ...(successes > 1 ? [`INV_001: ${successes} executions of one job reached terminal success`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
