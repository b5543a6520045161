import { once } from 'node:events'
import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'
import { enqueue } from '../../src/store/enqueue.js'
import { start } from '../../src/store/lease.js'
import { release } from '../../src/store/settle.js'

/** Each may fail once: the second failure ends it. */
async function enqueueBoth(actor: Actor): Promise<string> {
  const answers = await enqueue(
    actor.db,
    actor.jobIds.map((id) => ({ ...labJob(id), failuresMax: 1 })),
  )
  return [...answers.values()].join(', ')
}

async function leaseBothStartOne(actor: Actor): Promise<string> {
  const leases = await actor.claimMany(2)
  await start(actor.db, leases.slice(0, 1))
  const [ids, failures] = [leases.map(({ leaseId }) => leaseId), leases.map((lease) => lease.failures)]
  return `leases ${ids.join(' and ')}, failures ${failures.join(' and ')}`
}

/** What a deploy does to a worker. */
async function giveBackOnSigterm(actor: Actor): Promise<string> {
  const told = once(process, 'SIGTERM')
  process.kill(process.pid, 'SIGTERM')
  await told
  const answers = await release(actor.db, actor.leases, 'shutdown')
  return answers.map(({ answer }) => answer).join(', ')
}

async function commitBoth(actor: Actor): Promise<string> {
  const first = await actor.claimAnd()
  return first === 'nothing to claim' ? first : `${first}; ${await actor.claimAnd()}`
}

export default scenario({
  id: 'FM_012',
  name: 'Shutdown, deploy or crash charged as failure',
  story: 'A deploy and a crash take two jobs from their workers, and the jobs pay for it with their retries.',
  invariants: ['INV_008'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges', enqueueBoth),
    step('A', 'leases both, starts one', leaseBothStartOne),
    step('A', 'gives both back on SIGTERM', giveBackOnSigterm),
    step('B', 'leases both, starts one', leaseBothStartOne),
    step('B', 'is killed', (b) => b.die()),
    timePasses('the leases run out', 31_000),
    step('C', 'takes the leases back', (c) => c.lose()),
    step('C', 'commits both', commitBoth),
  ],
  check: async (found) => {
    const jobs = await Promise.all(found.jobIds.map((_, index) => found.job(index)))
    const charged = jobs.filter((job) => job && job.failures > 0).length
    const ended = jobs.filter((job) => job?.outcome === 'failed').length
    return [
      ...(charged > 0 ? [`INV_008: failures are charged to ${charged} jobs, and no handler has failed`] : []),
      ...(ended > 0 ? [`INV_008: the retries of ${ended} jobs are used up, and no handler has failed`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
