import { scenario, step, timePasses } from '../../src/lab/scenario.js'

const gate = { overrunMs: 20_000 }

export default scenario({
  id: 'FM_016',
  name: 'Shutdown bypasses the limit',
  story: 'A worker that shuts down gives back a job whose slot another has by now; the job is run beside that one.',
  invariants: ['INV_006', 'INV_007'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges that may overrun', (p) => p.enqueueBehind(gate, [0, 1])),
    step('A', 'leases the first', (a) => a.claim()),
    timePasses('it takes too long', 25_000),
    step('maintenance', 'gives its slot to the next', (m) => m.overrun()),
    step('B', 'leases the second', (b) => b.claim()),
    step('A', 'shuts down, and gives the first back', (a) => a.release()),
    step('C', 'looks for work', (c) => c.heedAndClaim()),
    step('B', 'finishes', (b) => b.applyAndFinish()),
    step('C', 'looks again', (c) => c.heedAndClaim()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    // An overrun holder beside the next is what was asked for. Here A has ended.
    const leased = (note: string) => found.notes.get(note)?.startsWith('lease') ?? false
    return [
      ...(leased('B: leases the second') && leased('C: looks for work')
        ? ['INV_007: a job that was given back runs beside the one that has its slot']
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
