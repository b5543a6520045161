import { goesOn, scenario, step, timePasses } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_004',
  name: 'Rescuer overwrites a completion',
  story: 'A rescuer picks an expired job; the job finishes; the rescuer puts it back by its id.',
  invariants: ['INV_003', 'INV_004'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it', (a) => a.claim()),
    timePasses('the lease runs out', 31_000),
    step('A', 'is about to commit', (a) => a.openCommit()),
    step('rescuer 1', 'looks for expired leases', (a) => a.lose(), { pause: 'held' }),
    step('A', 'commits', (a) => a.closeCommit()),
    goesOn('rescuer 1', 'puts back what it found'),
  ],
  check: async (found) => {
    const undone = await found.successUndone('A', 'commits')
    const job = await found.job()
    const calledLost = job?.attempts.some(({ worker, ending }) => worker === 'A' && ending === 'lost')
    return [
      ...undone,
      ...(undone.length > 0 && calledLost ? ['INV_004: recovery calls the attempt lost that had succeeded'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
