-- enqueue_many(ids, tasks, payloads, queues, priorities, delays_ms, failures_max, losses_max, leases_ms, gates, own,
--              run, run_task, ordinal, first_item, policy) → (job_id, answer)
-- enqueue(task, payload, …) → (job_id, answer): the same for one job, with defaults, for psql and triggers
--
-- Move: ∅ → delayed, if it has a delay; → ready, if it has no gates; otherwise place().
-- Answers: `enqueued`; `existing` if a job with this id, task and payload is there already, wherever it is now: it is
--   not touched. That is what makes an enqueue safe to repeat after a lost reply. For a job that does not want to wait at
--   a full gate: `discarded`, or `pending` if that will be decided later, as it is in a transaction of the caller's.
-- `own`: this statement is all of its transaction, and may admit jobs through their gates.
-- `run` …: the jobs are items of a task run, from `first_item` on; `policy`: what its workflow says of retries and timeout.
-- Raises FP001 if a job with this id is there with another task or payload; then nothing of the call is stored. (Not so for
--   an item: what was made first stands.)
-- Locks: the new ids in the primary key of `job`, in order of id, so that two callers cannot deadlock. An id that
--   another transaction is just inserting is waited for (above READ COMMITTED: 40001 if it commits).
create or replace function fencepost.enqueue_many(
  p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_queues text[], p_priorities smallint[], p_delays_ms bigint[],
  p_failures_max smallint[], p_losses_max smallint[], p_leases_ms integer[], p_gates jsonb[] default null,
  p_own boolean default false, p_run_id uuid default null, p_run_task text default null, p_ordinal integer default null,
  p_first_item integer default null, p_policy jsonb default null
) returns table (job_id uuid, answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_made uuid[];
  v_gated fencepost.ready[];
  v_queues text[];
  v_conflict uuid;
  v_calls fencepost.nudge[];
  v_impatient boolean;
begin
  perform fencepost.durable(); -- guard: enqueue.durable
  if '' = any (p_tasks) or '' = any (p_queues) or 0 > any (p_failures_max) or 0 > any (p_losses_max) or 0 >= any (p_leases_ms) then -- guard: enqueue.may_be_job
    perform fencepost.refuse_job();
  end if;
  with asked as materialized (
    select nextval('fencepost.job_seq') as seq, a.* -- guard: enqueue.order
    from unnest(p_ids, p_tasks, p_payloads, p_queues, p_priorities, p_delays_ms, p_failures_max, p_losses_max,
                p_leases_ms, p_gates) with ordinality
      as a(id, task, payload, queue, priority, delay_ms, failures_max, losses_max, lease_ms, gates, n)
  ), made as (
    insert into fencepost.job
      (id, seq, created_at, due_at, lease_ms, priority, failures_max, losses_max, queue, task, payload, gates, run_id,
       run_task, ordinal, item, policy)
    select a.id, a.seq, fencepost.clock(),
           case when a.delay_ms > 0 then fencepost.clock() + a.delay_ms * interval '1 ms' end,
           a.lease_ms, a.priority, a.failures_max, a.losses_max, a.queue, a.task, a.payload, a.gates,
           p_run_id, p_run_task, p_ordinal, p_first_item + a.n - 1, p_policy
    from asked a
    order by a.id -- guard: enqueue.lock_order
    on conflict (id) do nothing -- guard: enqueue.once
    returning id, seq, due_at, priority, failures_max, losses_max, queue, task, gates
  ), put as (
    insert into fencepost.delayed
      (job_id, due_at, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task, gates,
       held, local_limit)
    select m.id, m.due_at, m.seq, 0, 0, m.priority, 0, 0, m.failures_max, m.losses_max, m.queue, m.task,
           fencepost.gate_keys(m.gates), case when m.gates is not null then 0 end, fencepost.local_limit(m.gates)
    from made m
    where m.due_at is not null
  ), plain as ( -- what place() would do, without the way there and back
    insert into fencepost.ready
      (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task)
    select m.id, m.seq, 0, 0, m.priority, 0, 0, m.failures_max, m.losses_max, m.queue, m.task
    from made m
    where m.due_at is null and m.gates is null -- guard: enqueue.plain
    order by m.seq
  )
  select array_agg(m.id), array_agg(distinct m.queue) filter (where m.due_at is null and m.gates is null),
         array_agg(row(m.id, m.seq, 0, 0, m.priority, 0, 0, m.failures_max, m.losses_max, m.queue, m.task,
                       fencepost.gate_keys(m.gates), 0, fencepost.local_limit(m.gates), true)::fencepost.ready)
           filter (where m.due_at is null and m.gates is not null),
         bool_or(m.due_at is null and m.gates is not null and m.gates @? '$[*] ? (@.onFull != "wait")')
  into v_made, v_queues, v_gated, v_impatient
  from made m;

  if v_queues is not null then
    perform fencepost.rouse(v_queues); -- guard: enqueue.rouse
  end if;
  if v_gated is not null then
    v_calls := fencepost.place(v_gated);
  end if;

  if cardinality(v_made) = cardinality(p_ids) and v_calls is null then
    return query select unnest(p_ids), 'enqueued';
    return;
  end if;

  if cardinality(v_made) is distinct from cardinality(p_ids) and p_run_id is null then
    -- A statement of its own: the rows that were in the way may have been committed after the first one's snapshot.
    select j.id into v_conflict -- guard: enqueue.new_statement
    from unnest(p_ids, p_tasks, p_payloads) as a(id, task, payload)
    join fencepost.job j on j.id = a.id
    where (j.task, j.payload) is distinct from (a.task, a.payload)
    limit 1;
    if v_conflict is not null then -- guard: enqueue.conflict
      raise exception using errcode = 'FP001',
        message = format('job %s exists with another task or payload', v_conflict),
        hint = 'The first job stands. Use a new id for a different job.';
    end if;
  end if;
  if v_calls is not null then
    perform fencepost.admit(v_calls, p_own); -- after everything that can wait
  end if;
  if p_run_id is not null then
    return; -- nobody asks
  end if;
  return query
    select a.id, case when a.id = any (v_made) then coalesce(d.answer, 'enqueued') else 'existing' end
    from unnest(p_ids) as a(id)
    left join (
      select f.job_id, 'discarded' as answer
      from fencepost.finished f where v_impatient and f.job_id = any (v_made)
      union all
      select w.job_id, 'pending'
      from unnest(v_gated) as r
      join fencepost.waiting w on w.gate = any (r.gates) and w.rank in (0, r.priority) and w.seq = r.seq
      where v_impatient and w.on_full <> 'wait' and w.fresh
        and exists (select 1 from fencepost.nudge n where n.key = w.gate)
    ) d on d.job_id = a.id;
end $$;

-- enqueue_many_fresh(…): the same for ids that were made for this very call, and that nobody else can know. It does not look
-- whether they are there, which is a sixth of the work and 48 bytes of WAL for each. Were one there, it is an error, and
-- nothing is stored.
do $$
begin
  execute replace(replace(pg_get_functiondef('fencepost.enqueue_many'::regproc), '.enqueue_many(', '.enqueue_many_fresh('),
    'on conflict (id) do nothing', '');
end $$;

create or replace function fencepost.enqueue(
  task text, payload jsonb default '{}', id uuid default fencepost.new_id(), queue text default 'default',
  priority integer default 0, delay interval default '0', failures_max integer default 5,
  losses_max integer default 5, lease interval default '30 seconds', gates jsonb default null
) returns table (job_id uuid, answer text)
language plpgsql
as $$
begin
  return query select * from fencepost.enqueue_many(
    array[id], array[task], array[payload], array[queue], array[priority]::smallint[],
    array[(extract(epoch from delay) * 1000)::bigint], array[failures_max]::smallint[], array[losses_max]::smallint[],
    array[(extract(epoch from lease) * 1000)::integer], array[fencepost.gate_list(gates)]);
end $$;

-- gate_list(gates) → the same in the order of their keys, with what is left out: for those who write gates by hand. Each
-- key once: a job that needs two slots of one gate would wait for itself. A strict gate is nothing but strict.
create or replace function fencepost.gate_list(p_gates jsonb) returns jsonb
language sql immutable
as $$
  select jsonb_agg(case when u.g ->> 'key' like 'fifo:%'
                        then u.g - 'overrunMs' || '{"limit": 1, "onFull": "wait"}'
                        else '{"limit": 1, "onFull": "wait"}'::jsonb || u.g end
                   order by u.g ->> 'key' collate "C")
  from (
    select distinct on (g ->> 'key') g
    from jsonb_array_elements(p_gates) with ordinality as a(g, n)
    order by g ->> 'key', n
  ) u
$$;
