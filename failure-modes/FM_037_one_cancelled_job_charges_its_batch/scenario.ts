import type { Actor } from '../../src/lab/actor.js'
import { finishInTurn } from '../../src/lab/finish-in-turn.js'
import { scenario, step } from '../../src/lab/scenario.js'
import { extend, start } from '../../src/store/lease.js'
import { fail, finish } from '../../src/store/settle.js'

/** The third of the five. */
const cancelledIndex = 2

async function leaseFive(worker: Actor): Promise<string> {
  const leases = await worker.claimMany(worker.jobIds.length)
  await start(worker.db, leases)
  return `${leases.length} leases`
}

/** The heartbeat tells which of them are to end. */
async function beat(worker: Actor): Promise<string> {
  const told = await extend(worker.db, worker.leases)
  const toEnd = told.filter(({ cancelRequested }) => cancelRequested).length
  return `${told.length} extended, ${toEnd} to end`
}

const tally = (answers: readonly string[]) =>
  [...new Set(answers)].map((answer) => `${answers.filter((each) => each === answer).length} ${answer}`).join(', ')

async function settleAll(worker: Actor): Promise<string> {
  const cancelled = worker.jobIds[cancelledIndex]
  return worker.naive ? settleAsOne(worker, cancelled) : settleEach(worker, cancelled)
}

/** One transaction for the batch; what one of them throws is what the batch has come to. */
async function settleAsOne(worker: Actor, cancelled: string | undefined): Promise<string> {
  const aborted = new Error('cancelled')
  try {
    await worker.db.transaction(async (tx) => {
      for (const lease of worker.leases) {
        if (lease.jobId === cancelled) throw aborted
        await finish(worker.db, [{ ...lease, resultText: '"done"' }], tx)
      }
    })
    return 'finished'
  } catch (error) {
    if (error !== aborted) throw error
  }
  const failures = worker.leases.map((lease) => ({
    ...lease,
    errorText: '{"message":"cancelled"}',
    delayMs: 0,
    final: false,
  }))
  return tally((await fail(worker.db, failures)).map(({ answer }) => answer))
}

/** As the product: what each has come to is a word of its own, and all of them go in one turn. */
async function settleEach(worker: Actor, cancelled: string | undefined): Promise<string> {
  for (const lease of worker.leases) if (lease.jobId !== cancelled) await worker.applyOnce(lease)
  const turns = worker.turns(() => {})
  const said = worker.leases.map((lease) =>
    lease.jobId === cancelled
      ? turns.release({ ...lease, reason: 'cancelled' })
      : finishInTurn(turns, { ...lease, resultText: '"done"' }),
  )
  return tally((await Promise.all<{ answer: string }>(said)).map(({ answer }) => answer))
}

export default scenario({
  id: 'FM_037',
  name: 'One cancelled job charges its batch',
  story: 'Five jobs run as a batch and one of them is cancelled; the batch fails, and all five are charged.',
  invariants: ['INV_008'],
  jobs: 5,
  steps: [
    step('producer', 'enqueues five charges', (p) => p.enqueue()),
    step('A', 'leases all five and runs them', leaseFive),
    step('operator', 'cancels the third', (o) => o.cancel(cancelledIndex)),
    step('A', 'is told by its heartbeat', beat),
    step('A', 'settles the batch', settleAll),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const charged = await found.sql<{ n: number }>(
      'select count(*)::integer as n from fencepost.jobs where failures > 0 and id <> $1 having count(*) > 0',
      [found.jobIds[cancelledIndex]],
    )
    return [
      ...charged.map(({ n }) => `INV_008: ${n} jobs are charged a failure, and no handler of theirs has failed`),
      ...(await found.usualSuspects()),
    ]
  },
})
