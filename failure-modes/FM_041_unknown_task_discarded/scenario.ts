import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'

/** A worker that does not know the task of the lab's jobs. What it has no handler for it takes for rubbish. */
async function workWithoutTheHandler(actor: Actor): Promise<string> {
  const [lease] = await actor.claimMany(1, ['send-mail'])
  if (!lease) return 'nothing to claim'
  return `lease ${lease.leaseId}, no handler: ${await actor.fail(true)}`
}

async function leaseAndDie(actor: Actor): Promise<string> {
  await actor.claim()
  return actor.die()
}

export default scenario({
  id: 'FM_041',
  name: 'Unknown task discarded',
  story: 'The worker of a new task dies; one that does not know the task takes the job up and throws it away.',
  invariants: ['INV_004'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'knows the task, leases it, dies', leaseAndDie),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (b) => b.lose()),
    step('B', 'does not know it, looks for work', workWithoutTheHandler),
    step('C', 'knows the task, looks for work', (c) => c.claimAnd()),
  ],
  check: async (found) => {
    const job = await found.job()
    const dropped = job && job.outcome !== 'succeeded'
    return [
      ...(dropped ? [`INV_004: the work was dropped: ${job.outcome} by ${job.worker}, and never run to its end`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
