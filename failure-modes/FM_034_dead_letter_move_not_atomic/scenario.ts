import type { Actor } from '../../src/lab/actor.js'
import { scenario, step } from '../../src/lab/scenario.js'

/** Two statements where one is needed: first out of the queue, then into the dead letters. */
async function failInTwoSteps(actor: Actor): Promise<string> {
  await actor.sql('delete from fencepost.leased where job_id = $1', [actor.jobIds[0]])
  await actor.sql(
    `insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses)
     values ($1, fencepost.clock(), 'failed', 1, 0, 1, 0)`,
    [actor.jobIds[0]],
  )
  return 'failed'
}

export default scenario({
  id: 'FM_034',
  name: 'Dead-letter move not atomic',
  story: 'A worker is killed between taking a job out of the queue and putting it among the dead letters.',
  invariants: ['INV_006'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it', (a) => a.claim()),
    step('A', 'fails it for good, and is killed in the middle', (a) => (a.naive ? failInTwoSteps(a) : a.fail(true)), {
      fault: 'killed',
    }),
  ],
  check: (found) => found.usualSuspects(),
})
