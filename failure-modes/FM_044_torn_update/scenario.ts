import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'

/** The user's write, in a transaction of its own; of two with the same key, the first stands. */
async function write(a: Actor): Promise<string> {
  const rows = await a.sql(
    `insert into fencepost.lab_effect (job_id, by)
     select $1, $2 where not exists (select 1 from fencepost.lab_effect where job_id = $1) returning 1`,
    [a.lease?.jobId, a.name],
  )
  return rows.length > 0 ? 'written' : 'written before'
}

/** The first order is written with its outcome in one transaction, the second by a step. */
const needsNoStep = (a: Actor) => !a.naive && a.lease?.jobId === a.jobIds[0]

const begin = async (a: Actor) => (needsNoStep(a) ? 'needs no step' : a.beginStep('pay'))

async function pay(a: Actor): Promise<string> {
  if (needsNoStep(a)) return a.commit()
  if (a.naive) await a.endStep('pay') // remembered first and done then: what is recorded has not happened yet
  const written = await write(a)
  if (!a.naive) await a.endStep('pay')
  return `${written}, ${await a.finish()}`
}

/** What the step has recorded is believed. */
async function handle(a: Actor): Promise<string> {
  if (!a.lease) return 'nothing to do'
  const begun = await begin(a)
  return `${begun}, ${begun === 'done' ? await a.finish() : await pay(a)}`
}

export default scenario({
  id: 'FM_044',
  name: 'Torn update: a step’s result recorded, its effect not',
  story: 'A worker records the result of its work and is killed before it has written the work itself.',
  invariants: ['INV_002', 'INV_004'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two orders', (a) => a.enqueue()),
    step('A', 'leases the first', (a) => a.claim()),
    step('B', 'leases the second', (a) => a.claim()),
    step('A', 'begins', begin),
    step('B', 'begins', begin),
    step('A', 'pays, is killed', pay, { fault: 'killed' }),
    step('B', 'pays, is killed', pay, { fault: 'killed' }),
    timePasses('the leases run out', 31_000),
    step('C', 'takes leases back', (a) => a.lose()),
    step('C', 'leases what is left', (a) => a.claim()),
    step('C', 'goes on with it', handle),
  ],
  handle,
  check: async (found) => {
    const torn = await found.sql(
      `select 1 from fencepost.step s
       where s.done_at is not null and not exists (select 1 from fencepost.lab_effect e where e.job_id = s.job_id)`,
    )
    return [
      ...torn.map(() => 'INV_002: the result of a step is recorded, and its effect is not there'),
      ...(await found.usualSuspects()),
    ]
  },
})
