import { goesOn, scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_049',
  name: 'A stopped process holds locks',
  story: 'A worker is stopped between its finish and its COMMIT; the gate stays locked past every lease.',
  invariants: ['INV_007'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues three charges, two at a time', (p) => p.enqueueBehind({ limit: 2 }, [0, 1, 2])),
    step('A', 'leases the first', (a) => a.claim()),
    step('B', 'leases the second', (b) => b.claim()),
    step('A', 'finishes it in a transaction with its effect', (a) => (a.naive ? a.openCommit() : a.commitLast())),
    step('A', 'is stopped before it has said COMMIT', (a) => a.closeCommit(), { pause: 'stopped' }),
    step('B', 'finishes the second', (b) => b.applyAndFinish(), { pause: 'held' }),
    timePasses('every lease runs out', 31_000),
    step('C', 'looks for work', (c) => c.heedAndClaim()),
    goesOn('A', 'is resumed'),
    goesOn('B', 'has finished'),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [
    ...(found.notes.get('B: finishes the second') === 'is held up in the middle'
      ? ['INV_007: a slot was not handed on, past every lease, because a process stood still']
      : []),
    ...found.beyond(2),
    ...(await found.usualSuspects()),
  ],
})
