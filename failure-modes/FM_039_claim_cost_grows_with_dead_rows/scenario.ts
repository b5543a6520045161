import { randomUUID } from 'node:crypto'
import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, scene, step } from '../../src/lab/scenario.js'
import { enqueue } from '../../src/store/enqueue.js'

const pile = 3_000
/** What one claim of one job may read; beyond that, it reads what is dead. */
const blocksMax = 30

async function enqueuePile(producer: Actor): Promise<string> {
  const jobs = Array.from({ length: pile }, () => labJob(randomUUID()))
  await enqueue(producer.db, jobs)
  return `${pile} enqueued`
}

/** A report that takes hours, and that sees everything as it was when it began. */
function openSnapshot(reporter: Actor): Promise<string> {
  return reporter.open(async (tx) => {
    await tx.query('set transaction isolation level repeatable read')
    await tx.query('select 1')
    return 'reads'
  })
}

async function workOff(worker: Actor): Promise<string> {
  await worker.sql(
    `do $$
     declare
       v_jobs uuid[];
       v_leases bigint[];
       v_nonces bigint[];
     begin
       select array_agg(c.job_id), array_agg(c.lease_id), array_agg(c.nonce) into v_jobs, v_leases, v_nonces
       from fencepost.claim('lab', ${pile}, 'A') c;
       insert into fencepost.lab_effect (job_id, by) select j, 'A' from unnest(v_jobs) as j;
       perform fencepost.finish(v_jobs, v_leases, v_nonces, array_fill('1'::jsonb, array[cardinality(v_jobs)]));
     end $$`,
  )
  return `${pile} done`
}

/** One by one, in one session, as a busy worker does; answers what the middle one of these claims has read. */
async function claimOneByOne(worker: Actor): Promise<string> {
  const [read] = await worker.sql<{ blocks: number }>(
    `with blocks as (
       select fencepost.lab_claim_blocks('lab', '${worker.name}') as n from generate_series(1, ${worker.jobIds.length})
     )
     select percentile_disc(0.5) within group (order by n)::integer as blocks from blocks`,
  )
  return `the middle one of ${worker.jobIds.length} claims read ${read?.blocks} blocks`
}

/** Claims and finishes a job; answers how many blocks of the table and of its index the claim has looked at. */
const claimAndCount = `
  create or replace function fencepost.lab_claim_blocks(p_queue text, p_worker text) returns bigint
  language plpgsql as $$
  declare
    v_before bigint;
    v_blocks bigint;
    v_lease record;
  begin
    v_before := pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
              + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass);
    select * into v_lease from fencepost.claim(p_queue, 1, p_worker);
    v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
              + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) - v_before;
    insert into fencepost.lab_effect (job_id, by) values (v_lease.job_id, p_worker);
    perform fencepost.finish(array[v_lease.job_id], array[v_lease.lease_id], array[v_lease.nonce], array['1'::jsonb]);
    return v_blocks;
  end $$;`

export default scenario({
  id: 'FM_039',
  name: 'Claim cost grows with dead rows',
  story:
    'A report keeps an old snapshot open; what is claimed meanwhile stays in the table, and every claim reads all of it.',
  invariants: [],
  jobs: 9,
  steps: [
    scene('dba', 'counts the blocks that a claim reads', async (d) => {
      await d.sql(claimAndCount)
      return 'counts'
    }),
    scene('producer', `enqueues ${pile} jobs`, enqueuePile),
    scene('reporter', 'begins a report that takes hours', openSnapshot),
    scene('A', 'does them all', workOff),
    step('producer', 'enqueues nine more', (p) => p.enqueue()),
    step('A', 'does them one by one', claimOneByOne),
    step('reporter', 'ends its report', (r) => r.closeCommit()),
  ],
  check: async (found) => {
    const blocks = Number(/read (\d+) blocks/.exec(found.notes.get('A: does them one by one') ?? '')?.[1] ?? 0)
    return [
      ...(blocks > blocksMax ? [`cost grows with history: a claim reads ${blocks} blocks to take one job`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
