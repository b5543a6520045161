import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, step } from '../../src/lab/scenario.js'
import { enqueue } from '../../src/store/enqueue.js'

async function enqueueReport(producer: Actor): Promise<string> {
  const job = { ...labJob(producer.jobIds[0] as string), priority: 50 }
  return [...(await enqueue(producer.db, [job])).values()].join('')
}

/** So many turns of one worker, which does one job in each; before each of them an urgent one arrives. */
async function work(worker: Actor, from: number, to: number): Promise<string> {
  await worker.sql(
    `do $$
     declare
       v_lease record;
     begin
       for v_turn in ${from} .. ${to} loop
         perform fencepost.enqueue('charge-card', queue => 'lab', priority => -1::smallint);
         select * into v_lease from fencepost.claim('lab', 1, '${worker.name}', null, v_turn);
         insert into fencepost.lab_effect (job_id, by) values (v_lease.job_id, '${worker.name}');
         perform fencepost.finish(array[v_lease.job_id], array[v_lease.lease_id], array[v_lease.nonce], array['1'::jsonb]);
       end loop;
     end $$`,
  )
  return `${to - from + 1} done; the report: ${await worker.places([0])}`
}

export default scenario({
  id: 'FM_038',
  name: 'Starvation',
  story: 'Urgent jobs arrive as fast as they are done; a report that was there first waits for ever.',
  invariants: [],
  jobs: 1,
  steps: [
    step('producer', 'enqueues a report, which is not urgent', enqueueReport),
    step('A', 'does 15 jobs, while 15 urgent ones arrive', (a) => work(a, 1, 15)),
    step('A', 'does 17 more, while 17 urgent ones arrive', (a) => work(a, 16, 32)),
  ],
  check: async (found) => {
    const starved = found.notes.get('A: does 17 more, while 17 urgent ones arrive')?.endsWith('ready')
    return [
      ...(starved ? ['unbounded wait: 32 jobs came after the report, and all of them were done before it'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
