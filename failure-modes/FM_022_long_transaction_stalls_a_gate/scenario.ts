import { goesOn, scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_022',
  name: 'A long transaction stalls a gate',
  story:
    'An application enqueues behind a gate in a transaction that takes its time; the gate’s other jobs stand still.',
  invariants: ['INV_007'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues two charges', (p) => p.enqueueBehind({}, [0, 1])),
    step('A', 'leases the first', (a) => a.claim()),
    step('app', 'enqueues a third in a long transaction', (app) => app.open((tx) => app.enqueueBehind({}, [2], tx))),
    step('A', 'finishes the first', (a) => a.applyAndFinish(), { pause: 'held' }),
    step('B', 'looks for work', (b) => b.claim()),
    step('app', 'commits at last', (app) => app.closeCommit()),
    goesOn('A', 'has finished'),
    step('B', 'finishes, if it has any', (b) => (b.lease ? b.applyAndFinish() : Promise.resolve('nothing to finish'))),
    step('C', 'looks for work', (c) => c.heedAndClaim()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [
    ...(found.notes.get('A: finishes the first') === 'is held up in the middle'
      ? ['INV_007: a slot was not handed on as long as a stranger’s transaction was open']
      : []),
    ...found.beyond(1),
    ...(await found.usualSuspects()),
  ],
})
