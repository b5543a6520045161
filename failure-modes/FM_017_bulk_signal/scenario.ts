import { scenario, step } from '../../src/lab/scenario.js'

const bank = { key: 'gate:bank' }

export default scenario({
  id: 'FM_017',
  name: 'Bulk signal above the limit, or collapsed to one',
  story: 'Three jobs are discarded in one call: two that hold a slot each, and one that holds none.',
  invariants: ['INV_006', 'INV_007'],
  jobs: 7,
  steps: [
    step('producer', 'enqueues four charges, two at a time to the card', (p) =>
      p.enqueueBehind({ limit: 2 }, [0, 1, 2, 3]),
    ),
    step('producer', 'enqueues three, one at a time to the bank', (p) => p.enqueueBehind(bank, [4, 5, 6])),
    step('operator', 'discards two that hold the card, one that waits for the bank', async (o) => {
      await o.cancel(0, 1, 5)
      return o.places([2, 3, 4, 6])
    }),
    step('worker 1', 'looks for work', (w) => w.claim()),
    step('worker 2', 'looks for work', (w) => w.claim()),
    step('worker 3', 'looks for work', (w) => w.claim()),
  ],
  check: async (found) => [
    ...found.beyond(2, [0, 1, 2, 3]),
    ...found.beyond(1, [4, 5, 6]),
    ...(await found.usualSuspects()),
  ],
})
