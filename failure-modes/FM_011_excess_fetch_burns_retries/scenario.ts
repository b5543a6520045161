import type { Actor } from '../../src/lab/actor.js'
import { scenario, step } from '../../src/lab/scenario.js'
import { start } from '../../src/store/lease.js'
import { release } from '../../src/store/settle.js'

const group = { key: 'group:bulk', limit: 10, local: 1 }

/** A batch of two. It runs the first; for more its process has no room. */
async function fetchTwo(worker: Actor): Promise<string> {
  const leases = await worker.claimMany(2)
  worker.lease = leases[0]
  await start(worker.db, leases.slice(0, 1))
  return `fetched ${leases.length}`
}

async function giveBackExcess(worker: Actor): Promise<string> {
  const excess = worker.leases.slice(1)
  if (excess.length > 0) await release(worker.db, excess, 'no_room')
  return `gave back ${excess.length}`
}

export default scenario({
  id: 'FM_011',
  name: 'Excess fetch burns retries',
  story: 'A worker fetches two jobs of a group of which its process may run one; the other is given back and charged.',
  invariants: ['INV_008'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two of a group, one per process', (p) => p.enqueueBehind(group, [0, 1])),
    step('A', 'fetches two at a time', fetchTwo),
    step('A', 'gives back what it has no room for', giveBackExcess),
    step('B', 'looks for work', (b) => b.claim()),
    step('A', 'finishes', (a) => a.applyAndFinish()),
    step('B', 'finishes', (b) => b.applyAndFinish()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const charged = await found.sql<{ n: number }>('select failures as n from fencepost.jobs where failures > 0')
    return [
      ...charged.map(({ n }) => `INV_008: failures ${n}, and no handler has failed`),
      ...(await found.usualSuspects()),
    ]
  },
})
