-- place(jobs) → calls
--
-- The way into `ready`, with all gates held; a job that lacks one goes into `waiting` there, and its call, for admit(), is
-- answered. Every move that makes a job runnable hands its rows to this function, but for new jobs without gates
-- (enqueue_many).
--
-- Locks: none that wait; the rows are new.
create or replace function fencepost.place(p_jobs fencepost.ready[]) returns fencepost.nudge[]
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_calls fencepost.nudge[];
begin
  insert into fencepost.ready
  select j.job_id, j.seq, j.tries, j.releases, j.priority, j.failures, j.losses, j.failures_max, j.losses_max, j.queue,
         j.task, j.gates, j.held, j.local_limit, null
  from unnest(p_jobs) as j
  where j.gates is null or j.held = cardinality(j.gates) -- guard: place.all_gates
  order by j.seq;
  if found then
    perform fencepost.rouse(array(
      select distinct j.queue from unnest(p_jobs) as j where j.gates is null or j.held = cardinality(j.gates)));
  end if;

  if exists (select 1 from unnest(p_jobs) as j where j.held < cardinality(j.gates)) then
    with put as (
      insert into fencepost.waiting
        (gate, rank, seq, job_id, since, tries, releases, priority, failures, losses, failures_max, losses_max, held,
         local_limit, fresh, on_full, queue, task, gates)
      select coalesce(pause.key, g.next ->> 'key'),
             case when g.next ->> 'key' like 'fifo:%' then 0 else j.priority end, -- guard: place.strict
             j.seq, j.job_id, fencepost.clock(), j.tries, j.releases, j.priority, j.failures, j.losses, j.failures_max,
             j.losses_max, j.held, j.local_limit, j.fresh, g.next ->> 'onFull', j.queue, j.task, j.gates
      from unnest(p_jobs) as j
      join fencepost.job b on b.id = j.job_id
      cross join lateral (select b.gates -> j.held::integer as next) g
      left join lateral (
        select p.key from fencepost.gate p
        where p.paused_at is not null and p.key in ('pause:queue:' || j.queue, 'pause:task:' || j.task)
          and fencepost.may_step_aside(j.gates, j.held) -- guard: place.aside
        order by p.key
        limit 1
      ) pause on true
      where j.held < cardinality(j.gates)
      order by j.seq
      returning gate, seq, task, held, job_id
    )
    select array_agg(row(p.gate, 0, case when p.gate = n.next ->> 'key' then (n.next ->> 'limit')::integer end,
                         (n.next ->> 'local')::integer, p.seq, p.task)::fencepost.nudge)
    into v_calls
    from put p
    join fencepost.job b on b.id = p.job_id
    cross join lateral (select b.gates -> p.held::integer as next) n;
  end if;
  return v_calls;
end $$;

-- rouse(queues)
--
-- A worker that sleeps is notified: it has said so in `sleeper`, and looks again until every transaction that may not
-- have seen that has ended (src/worker/lookout.ts). Above READ COMMITTED the snapshot may be older than the sleeper's
-- row: then everyone is notified.
-- To be called after the insert, in a statement of its own: a sleeper that is not seen here looks again and finds the job.
create or replace function fencepost.rouse(p_queues text[]) returns void
language plpgsql
as $$
declare
  v_queue text;
begin
  -- One by one: for an array the planner would make a plan each time, in the belief that it pays. That takes 20 µs.
  foreach v_queue in array p_queues loop
    if exists (select 1 from fencepost.sleeper s where s.queue = v_queue)
       or current_setting('transaction_isolation') <> 'read committed' then -- guard: place.old_snapshot
      perform pg_notify('fencepost.ready', v_queue); -- guard: place.notify
    end if;
  end loop;
end $$;
