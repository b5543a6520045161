import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'
import { extend, start } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { reapExpired } from '../../src/store/worker.js'

async function look(maintenance: Actor): Promise<string> {
  const lost = (await reapExpired(maintenance.db, 0)).sort((one, other) => one.leaseId - other.leaseId)
  return lost.map(({ answer, leaseId }) => `lease ${leaseId} ${answer}`).join(', ') || 'nothing to take back'
}

async function leaseAll(worker: Actor): Promise<string> {
  const leases = await worker.claimMany(worker.jobIds.length)
  await start(worker.db, leases)
  return `${leases.length} leases`
}

async function beatForAll(worker: Actor): Promise<string> {
  return (await extend(worker.db, worker.leases)).map(({ answer }) => answer).join(', ')
}

async function finishAll(worker: Actor): Promise<string> {
  for (const lease of worker.leases) await worker.applyOnce(lease)
  const answers = await finish(
    worker.db,
    worker.leases.map((lease) => ({ ...lease, resultText: '"done"' })),
  )
  return answers.map(({ answer }) => answer).join(', ')
}

export default scenario({
  id: 'FM_053',
  name: 'Outage read as death',
  story:
    'The database is away for longer than a lease; back again, it finds every lease expired, and charges them all.',
  invariants: ['INV_008'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues three charges', (p) => p.enqueue()),
    step('maintenance', 'looks for expired leases', look),
    step('A', 'leases all three and works', leaseAll),
    timePasses('two minutes without the database', 120_000),
    step('maintenance', 'looks, first of all when it is back', look),
    step('A', 'beats for all, as soon as it can', beatForAll),
    timePasses('ten seconds', 10_000),
    step('maintenance', 'looks again', look),
    step('A', 'finishes all three', finishAll),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const looks = ['looks, first of all when it is back', 'looks again']
    const lost = looks.flatMap((does) => found.notes.get(`maintenance: ${does}`)?.match(/lost/g) ?? []).length
    return [
      ...(lost > 0 ? [`INV_008: ${lost} losses were charged for the time without a database`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
