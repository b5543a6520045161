import type { Actor } from '../../src/lab/actor.js'
import { goesOn, scenario, step } from '../../src/lab/scenario.js'

/** Once: a deadlock is not repeated away. */
async function once(actor: Actor, call: string, values: unknown[]): Promise<string> {
  try {
    const [row] = await actor.sql<{ answer: string }>(`select answer from ${call}`, values)
    return row?.answer ?? 'no answer'
  } catch (error) {
    const { code, cause } = error as { code?: string; cause?: { code?: string } }
    if (code === '40P01' || cause?.code === '40P01') return 'deadlock'
    throw error
  }
}

const cancelOnce = (operator: Actor) =>
  once(operator, 'fencepost.cancel(array[$1::uuid], null, true)', [operator.jobIds[0]])

async function finishOnce(worker: Actor): Promise<string> {
  await worker.applyOnce()
  const { jobId, leaseId, nonce } = worker.lease ?? {}
  const fence = 'array[$1::uuid], array[$2::bigint], array[$3::bigint]'
  return once(worker, `fencepost.finish(${fence}, array['1'::jsonb], true)`, [jobId, leaseId, nonce])
}

export default scenario({
  id: 'FM_040',
  name: 'Lock-order deadlock',
  story: 'A cancel takes the gate and then the job’s row; a finish takes the row and then the gate.',
  invariants: [],
  jobs: 2,
  steps: [
    step('producer', 'enqueues two charges', (p) => p.enqueueBehind({}, [0, 1])),
    step('A', 'leases the first', (a) => a.claim()),
    step('operator', 'cancels it', cancelOnce, { pause: 'held' }),
    step('A', 'finishes it', finishOnce, { pause: 'held' }),
    goesOn('operator', 'goes on'),
    goesOn('A', 'goes on'),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [
    ...([...found.notes.values()].includes('deadlock') ? ['a deadlock: each waited for what the other held'] : []),
    ...(await found.usualSuspects()),
  ],
})
