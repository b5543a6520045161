import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'

/** The guard: an intent before the call, a key with it, and a result after it. Without: the call, and nothing else. */
const intend = async (a: Actor) => (a.naive ? 'no intent' : a.beginStep('charge'))
const charge = (a: Actor) => a.callOutside(a.naive ? null : 'charge')
const record = async (a: Actor) => (a.naive ? 'no record' : a.endStep('charge'))

async function handle(worker: Actor): Promise<string> {
  const begun = await intend(worker)
  const done = begun === 'done' ? [] : [await charge(worker), await record(worker)]
  return [begun, ...done, await worker.commit()].join(', ')
}

export default scenario({
  id: 'FM_029',
  name: 'Crash between effect and record (outside the database)',
  story: 'A worker is killed after it has called somebody else’s system and before the result is recorded.',
  invariants: ['INV_001', 'INV_002', 'INV_005'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it', (a) => a.claim()),
    step('A', 'records its intent', intend),
    step('A', 'charges, is killed', charge, { fault: 'killed' }),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (a) => a.lose()),
    step('B', 'leases it', (a) => a.claim()),
    step('B', 'records its intent', intend),
    step('B', 'charges', charge),
    step('B', 'records the result', record),
    step('B', 'commits the outcome', (a) => a.commit()),
  ],
  handle,
  check: async (found) => {
    const calls = await found.outsideCalls()
    const charges = calls.filter(({ charged }) => charged)
    const intents = await found.sql('select 1 from fencepost.step')
    const succeeded = (await found.job())?.outcome === 'succeeded'
    const told = [...found.notes.values()].some((note) => note.includes('ambiguous'))
    return [
      ...(charges.length > 1
        ? [`INV_001: ${charges.length} charges for one job, by ${charges.map(({ by }) => by).join(' and ')}`]
        : []),
      ...(calls.length > 0 && intents.length === 0
        ? ['INV_002: the card was charged, and no record says that anyone meant to']
        : []),
      ...(succeeded && charges.length === 0 ? ['INV_004: the job has succeeded, and the card was not charged'] : []),
      ...(calls.length > 1 && !told
        ? ['INV_005: the call was repeated by a worker that was not told that it may have happened']
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
