import { scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_051',
  name: 'Lowered limit admits',
  story: 'A limit is lowered from three to one while three run; one of them ends, and its slot looks free.',
  invariants: ['INV_007'],
  jobs: 4,
  steps: [
    step('producer', 'enqueues four charges, three at a time', (p) => p.enqueueBehind({ limit: 3 }, [0, 1, 2, 3])),
    step('A', 'leases a charge', (a) => a.claim()),
    step('B', 'leases a charge', (b) => b.claim()),
    step('C', 'leases a charge', (c) => c.claim()),
    step('operator', 'lowers the limit', (o) => o.setLimit(1)),
    step('A', 'finishes', (a) => a.applyAndFinish()),
    step('D', 'looks for work', (d) => d.heedAndClaim()),
    step('B', 'finishes', (b) => b.applyAndFinish()),
    step('C', 'finishes', (c) => c.applyAndFinish()),
    step('D', 'looks again', (d) => d.heedAndClaim()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const said = (note: string, word: string) => found.notes.get(note)?.startsWith(word) ?? false
    // If one of the three was never leased, D gets a job that was let in before.
    const threeRan = ['A', 'B', 'C'].every((name) => said(`${name}: leases a charge`, 'lease'))
    return [
      ...(threeRan && said('operator: lowers the limit', 'limit') && said('D: looks for work', 'lease')
        ? ['INV_007: a job was let in beside two others, the limit is 1']
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
