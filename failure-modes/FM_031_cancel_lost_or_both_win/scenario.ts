import { committedThenKilled, type Inspection } from '../../src/lab/inspection.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'

const cancels = ['cancels the first', 'cancels the second, which ran a moment ago', 'cancels the third']

/** What the operator was told of a job, or a request that is durable, must be true in the end. */
async function promisesBroken(found: Inspection): Promise<string[]> {
  const broken = await Promise.all(
    cancels.map(async (cancel, index) => {
      const told = found.notes.get(`operator: ${cancel}`)
      const job = await found.job(index)
      if (told === 'cancelled' && job?.outcome !== 'cancelled')
        return `INV_003: job ${index + 1} was cancelled, and has ${job?.outcome}`
      // The attempt that ran when the cancel was requested may win; one that began later has ignored it.
      if ((told === 'requested' || told === committedThenKilled) && job?.worker === 'rescuer')
        return `INV_003: the cancel of job ${index + 1} was lost: it was taken up again, and has ${job.outcome}`
      return undefined
    }),
  )
  return broken.filter((problem) => problem !== undefined)
}

/** A success that B was told of, or has committed, stays one. */
async function successOfB(found: Inspection): Promise<string[]> {
  const note = found.notes.get('B: commits the effect and the outcome')
  if (note !== 'finished' && note !== committedThenKilled) return []
  const [job] = await found.sql<{ outcome: string }>(`select outcome from fencepost.finished where worker = 'B'`)
  return job?.outcome === 'succeeded' ? [] : [`INV_003: B has committed its success, and the job is ${job?.outcome}`]
}

export default scenario({
  id: 'FM_031',
  name: 'Cancel lost, or cancel and complete both win',
  story:
    'One cancel is sent to a worker that hears nothing; one lands after a completion; one lands before a late one.',
  invariants: ['INV_003'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues three charges', (a) => a.enqueue()),
    step('A', 'leases the first, and hears nothing more', (a) => a.claim()),
    step('B', 'leases the second', (a) => a.claim()),
    step('C', 'leases the third and stalls', (a) => a.claim()),
    step('operator', cancels[0] as string, (a) => a.cancel(0)),
    step('B', 'commits the effect and the outcome', (a) => a.commit()),
    step('operator', cancels[1] as string, (a) => a.cancel(1)),
    timePasses('the leases run out', 31_000),
    step('D', 'takes leases back', (a) => a.lose()),
    step('operator', cancels[2] as string, (a) => a.cancel(2)),
    step('C', 'wakes up and commits', (a) => a.commit()),
  ],
  check: async (found) => [
    ...(await promisesBroken(found)),
    ...(await successOfB(found)),
    ...(await found.usualSuspects()),
  ],
})
