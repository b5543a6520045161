import { randomUUID } from 'node:crypto'
import { expect, inject, it, onTestFinished } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { promoteDue, wake } from '../../src/store/control.js'
import { Database } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { migrate } from '../../src/store/migrator.js'
import { finish } from '../../src/store/settle.js'
import { gates } from '../harness/gates.js'
import { sqlFilesUnderTest } from '../harness/guard-removal.js'
import { aJob } from '../harness/setup.js'
import { databaseUrl, query } from '../harness/test-server.js'

/** As the version before gates had them: a second one of that name would make every call ambiguous. */
const oldMoves = `
  create function fencepost.place(fencepost.ready[]) returns void language sql as '';
  create function fencepost.enqueue_many(uuid[], text[], jsonb[], text[], smallint[], bigint[], smallint[], smallint[],
    integer[]) returns table (job_id uuid, answer text) language sql as 'select null::uuid, null::text';
  create function fencepost.finish(p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[])
    returns integer language sql as 'select 1';
  create function fencepost.wake(p_job_id uuid, p_name text, p_payload jsonb default null) returns integer
    language sql as 'select 1'`

/** One job in each place, as the version before gates stored them. */
const oldJobs = `
  with job as (
    insert into fencepost.job (id, seq, created_at, lease_ms, priority, failures_max, losses_max, queue, task, payload)
    select gen_random_uuid(), nextval('fencepost.job_seq'), now(), 30000, 0, 3, 2, 'default', 'test', '{}'
    from generate_series(1, 5)
    returning *
  ), first as (select *, row_number() over (order by seq) as n from job
  ), ready as (
    insert into fencepost.ready (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max,
                                 queue, task)
    select id, seq, 0, 0, 0, 0, 0, 3, 2, queue, task from first where n = 1
  ), leased as (
    insert into fencepost.leased (lease_id, nonce, job_id, seq, claimed_at, expires_at, lease_ms, tries, releases,
                                  priority, failures, losses, failures_max, losses_max, queue, task, worker)
    select nextval('fencepost.lease_seq'), 7, id, seq, now(), now() + interval '1 hour', 30000, 1, 0, 0, 0, 0, 3, 2,
           queue, task, 'old' from first where n = 2
  ), delayed as (
    insert into fencepost.delayed (job_id, due_at, seq, tries, releases, priority, failures, losses, failures_max,
                                   losses_max, queue, task)
    select id, now(), seq, 0, 0, 0, 0, 0, 3, 2, queue, task from first where n = 3
  ), parked as (
    insert into fencepost.parked (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max,
                                  queue, task, wait_name)
    select id, seq, 0, 0, 0, 0, 0, 3, 2, queue, task, 'signal' from first where n = 4
  )
  insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses)
  select id, now(), 'cancelled', 0, 0, 0, 0 from first where n = 5`

it('takes over a schema from before gates, with jobs in every place', async () => {
  const serverUrl = inject('serverUrl')
  const name = `t_${randomUUID().replaceAll('-', '')}`
  await query(serverUrl, `create database ${name}`)
  const url = databaseUrl(serverUrl, name)
  const db = new Database({ url })
  onTestFinished(async () => {
    await db.close()
    await query(serverUrl, `drop database ${name} with (force)`)
  })
  const files = sqlFilesUnderTest()
  const before = {
    migrations: files.migrations.filter(({ version }) => version < 4),
    moves: new Map([['old', oldMoves]]),
  }
  await migrate({ url, schema: 'fencepost', files: before })
  await db.once(oldJobs)
  await db.once('create view public.of_mine as select id, place from fencepost.jobs')

  await migrate({ url, schema: 'fencepost', files })

  const places = async () =>
    (await db.read<{ place: string }>('select place from fencepost.jobs order by seq')).map(({ place }) => place)
  expect(await places()).toEqual(['ready', 'leased', 'delayed', 'parked', 'finished'])
  expect(await db.read('select place from public.of_mine')).toHaveLength(5)
  expect((await audit(db)).findings).toEqual([])
  const [parked] = await db.read<{ job_id: string }>('select job_id from fencepost.parked')
  await wake(db, parked?.job_id as string, 'signal', '1')
  await promoteDue(db)
  await enqueue(db, [aJob({ gatesText: gates({ key: 'gate:k' }) })])
  const leases = await claim(db, { queue: 'default', limit: 10, worker: 'w1' })
  expect(leases).toHaveLength(4)
  const [old] = await db.read<{ job_id: string; lease_id: number }>(
    `select job_id, lease_id from fencepost.leased where worker = 'old'`,
  )
  await finish(db, [
    ...leases.map((lease) => ({ ...lease, resultText: '1' })),
    { jobId: old?.job_id as string, leaseId: old?.lease_id as number, nonce: 7, resultText: '1' },
  ])
  expect(new Set(await places())).toEqual(new Set(['finished']))
  expect((await audit(db)).findings).toEqual([])
})
