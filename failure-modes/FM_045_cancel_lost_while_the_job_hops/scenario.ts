import type { Actor } from '../../src/lab/actor.js'
import { goesOn, scenario, step, timePasses } from '../../src/lab/scenario.js'
import { fail } from '../../src/store/settle.js'
import { promoteDue } from '../../src/store/control.js'
import type { Fence } from '../../src/job/places.js'

/** Says that it has failed, to be tried again in a minute; its COMMIT has not come yet. */
function failNotCommitted(worker: Actor): Promise<string> {
  const lease = worker.lease as Fence
  worker.running.delete(lease.jobId)
  return worker.open(async (tx) => {
    const words = [{ ...lease, errorText: '{"message":"no"}', delayMs: 60_000, final: false }]
    const [answer] = await fail(worker.db, words, tx)
    return answer?.answer ?? 'no answer'
  })
}

async function promoteAndDo(worker: Actor): Promise<string> {
  await promoteDue(worker.db)
  return worker.claimAnd()
}

export default scenario({
  id: 'FM_045',
  name: 'Cancel lost while the job hops',
  story:
    'A cancel waits for the row of a running job; the job fails, and is then in a place that cancel has left behind.',
  invariants: ['INV_003', 'INV_010'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (p) => p.enqueue()),
    step('A', 'leases it', (a) => a.claim()),
    step('A', 'says that it has failed', failNotCommitted),
    step('operator', 'cancels it', (o) => o.cancel(), { pause: 'held' }),
    step('A', 'commits: it is to be tried again', (a) => a.closeCommit()),
    goesOn('operator', 'is told'),
    timePasses('a minute', 61_000),
    step('B', 'takes up what is due', promoteAndDo),
  ],
  check: async (found) => {
    const told = found.notes.get('operator: is told')
    const job = await found.job()
    const ran = job?.outcome === 'succeeded'
    return [
      ...(told === 'missing' && job ? ['INV_010: who cancelled it is told that there is no such job'] : []),
      ...(told && told !== '(killed)' && ran ? ['INV_003: the job was cancelled while it did not run, and ran'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
