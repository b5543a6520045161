import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, step } from '../../src/lab/scenario.js'
import { enqueue } from '../../src/store/enqueue.js'

/**
 * The standby has not heard of the last claim: there, the job is ready and its lease was never given out. (One
 * statement, as a standby becomes the server in one moment.)
 */
async function failOver(dba: Actor): Promise<string> {
  const rows = await dba.sql(
    `with gone as (delete from fencepost.leased l where l.job_id = $1 returning l.*), back as (
       insert into fencepost.ready
         (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task)
       select g.job_id, g.seq, g.tries - 1, g.releases, g.priority, g.failures, g.losses, g.failures_max, g.losses_max,
              g.queue, g.task
       from gone g
     )
     select setval('fencepost.lease_seq', g.lease_id, false) from gone g`,
    [dba.jobIds[0]],
  )
  return rows.length > 0 ? 'one claim behind' : 'nothing is lost'
}

async function enqueueUrgent(producer: Actor): Promise<string> {
  const job = { ...labJob(producer.jobIds[1] as string), priority: -1 }
  return [...(await enqueue(producer.db, [job])).values()].join('')
}

export default scenario({
  id: 'FM_047',
  name: 'Fence reused after a failover',
  story: 'A standby that is behind gives out a lease number anew; the old worker’s finish ends another job.',
  invariants: ['INV_001', 'INV_003'],
  jobs: 2,
  steps: [
    step('producer', 'enqueues a charge', async (p) =>
      [...(await enqueue(p.db, [labJob(p.jobIds[0] as string)])).values()].join(''),
    ),
    step('A', 'leases it and goes to work', (a) => a.claim()),
    step('dba', 'fails over to a standby', failOver),
    step('producer', 'enqueues an urgent one', enqueueUrgent),
    step('B', 'leases the urgent one', (b) => b.claim()),
    step('A', 'commits the first one’s effect', (a) => a.commit()),
    step('B', 'commits the urgent one’s effect', (b) => b.commit()),
  ],
  check: async (found) => {
    const job = await found.job(1)
    const byB = (await found.effects()).find(({ jobId }) => jobId === found.jobIds[1])
    return [
      ...(job?.outcome === 'succeeded' && !byB
        ? ['INV_003: the urgent job has succeeded by the word of another job’s worker']
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
