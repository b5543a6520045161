import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'

/** The session tells its worker's own clock, for functions that would believe it. The product never sends one. */
async function loseByOwnClock(actor: Actor, aheadMs: number): Promise<string> {
  await actor.sql(`select set_config('lab.worker_clock_ms', $1, false)`, [String(aheadMs)])
  return actor.lose()
}

export default scenario({
  id: 'FM_033',
  name: 'Clock skew',
  story: 'A worker whose clock is an hour ahead takes a live lease for an expired one.',
  invariants: ['INV_001', 'INV_008'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and works', (a) => a.claim()),
    timePasses('five seconds of a lease of thirty', 5_000),
    step('B', 'looks for expired leases, its clock an hour ahead', (a) => loseByOwnClock(a, 3_600_000)),
    step('B', 'leases what there is and commits', (a) => a.claimAnd()),
    step('A', 'commits the effect and the outcome', (a) => a.commit()),
  ],
  check: async (found) => {
    const taken = found.notes.get('B: looks for expired leases, its clock an hour ahead') === 'lease 1 lost'
    return [
      ...(taken ? ['INV_008: a loss was charged for a lease with 25 seconds left'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
