import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'
import { enqueue } from '../../src/store/enqueue.js'

/** Two workers may die of it: the third ends it. */
const lossesMax = 2

async function enqueuePoison(actor: Actor): Promise<string> {
  const answers = await enqueue(
    actor.db,
    actor.jobIds.map((id) => ({ ...labJob(id), lossesMax })),
  )
  return [...answers.values()].join(', ')
}

/** Whoever runs the job's handler is killed by it: out of memory, a fault in a native module. */
function leaseAndDie(actor: Actor): Promise<string> {
  return actor.claimAnd((victim) => victim.die())
}

export default scenario({
  id: 'FM_013',
  name: 'Poison job kills workers for ever',
  story: 'A job’s handler kills its process; nobody counts that, and the next worker takes the job up.',
  invariants: ['INV_005', 'INV_008'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the poison', enqueuePoison),
    step('A', 'leases it and dies of it', leaseAndDie),
    timePasses('the first lease runs out', 31_000),
    step('B', 'takes the lease back', (b) => b.lose()),
    step('B', 'leases it and dies of it', leaseAndDie),
    timePasses('the second lease runs out', 31_000),
    step('C', 'takes the lease back', (c) => c.lose()),
    step('C', 'leases it and dies of it', leaseAndDie),
    timePasses('the third lease runs out', 31_000),
    step('D', 'takes the lease back', (d) => d.lose()),
    step('D', 'looks for work', leaseAndDie),
  ],
  handle: (victim) => victim.die(),
  check: async (found) => {
    const job = await found.job()
    const deaths = job?.attempts.filter(({ ending }) => ending === 'lost').length ?? 0
    const told = job?.outcome === 'failed' && job.reason === 'losses_exhausted'
    return [
      ...(job && !told ? [`INV_005: at least ${deaths} workers have died of one job, and no outcome tells of it`] : []),
      ...(deaths > lossesMax + 1 ? [`INV_008: ${deaths} leases were lost, and ${lossesMax} may be`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
