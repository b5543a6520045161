import type { Actor } from '../../src/lab/actor.js'
import { goesOn, scenario, step, timePasses } from '../../src/lab/scenario.js'
import { extend, start } from '../../src/store/lease.js'

async function leaseThree(worker: Actor): Promise<string> {
  const leases = await worker.claimMany(3)
  await start(worker.db, leases)
  // The one that a heartbeat, which locks by job, comes to first.
  worker.lease = leases.reduce((first, lease) => (lease.jobId < first.jobId ? lease : first))
  return `${leases.length} leases`
}

async function beatForAll(worker: Actor): Promise<string> {
  return (await extend(worker.db, worker.leases))
    .map(({ answer }) => answer)
    .sort()
    .join(', ')
}

export default scenario({
  id: 'FM_048',
  name: 'One busy row starves all heartbeats',
  story:
    'A commit that takes its time holds one lease row; the heartbeat for all leases waits for it, and all run out.',
  invariants: ['INV_008'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues three charges', (p) => p.enqueue()),
    step('A', 'leases them all', leaseThree),
    step('A', 'finishes the first in a transaction that takes its time', (a) => a.openCommit()),
    timePasses('two thirds of a lease', 20_000),
    step('A', 'its heart beats', beatForAll, { pause: 'held' }),
    timePasses('two thirds of a lease again', 20_000),
    step('B', 'takes back what has run out', (b) => b.lose()),
    step('A', 'commits the first', (a) => a.closeCommit()),
    goesOn('A', 'its heart has beaten'),
  ],
  check: async (found) => {
    const charged = await found.sql<{ n: number }>('select count(*)::integer as n from fencepost.jobs where losses > 0')
    const starved = found.notes.get('A: its heart beats') === 'is held up in the middle' && charged[0]?.n
    return [
      ...(starved ? [`INV_008: ${starved} losses were charged to a worker that lives`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
