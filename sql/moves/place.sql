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
  v_ready integer;
  v_paused text[];
begin
  insert into fencepost.ready
  select j.job_id, j.seq, j.tries, j.releases, j.priority, j.failures, j.losses, j.failures_max, j.losses_max, j.queue,
         j.task, j.gates, j.held, j.local_limit, null
  from unnest(p_jobs) as j
  where j.gates is null or j.held = cardinality(j.gates); -- guard: place.all_gates
  get diagnostics v_ready = row_count;
  if v_ready > 0 and current_setting('fencepost_claim.marks', true) <> '' then
    perform fencepost.mark_placed(p_jobs); -- guard: place.marks
  end if;
  -- Asked here, too: to find out the queues of thousands for nobody takes longer than to look.
  if v_ready > 0 and (
    exists (select 1 from fencepost.sleeper)
    or current_setting('transaction_isolation') <> 'read committed' -- guard: place.any_old_snapshot
  ) then
    perform fencepost.rouse(array(
      select distinct j.queue from unnest(p_jobs) as j where j.gates is null or j.held = cardinality(j.gates)));
  end if;

  if v_ready < cardinality(p_jobs) then
    v_paused := array(
      select p.key from fencepost.gate p where p.paused_at is not null and p.key >= 'pause:' and p.key < 'pause;');
    with waiter as materialized (
      select j.*, n.next, coalesce(
        -- Not looked for where nothing is paused: it would be a lookup for each of thousands.
        case when v_paused <> '{}' then (
          select p from unnest(v_paused) as p
          where p in ('pause:queue:' || j.queue, 'pause:task:' || j.task)
            and fencepost.may_step_aside(j.gates, j.held) -- guard: place.aside
          order by p
          limit 1) end,
        n.next ->> 'key') as gate
      from unnest(p_jobs) as j
      join fencepost.job b on b.id = j.job_id
      cross join lateral (select b.gates -> j.held::integer as next offset 0) n
      where j.held < cardinality(j.gates)
    ), put as (
      insert into fencepost.waiting
        (gate, rank, seq, job_id, since, tries, releases, priority, failures, losses, failures_max, losses_max, held,
         local_limit, fresh, on_full, queue, task, gates)
      select w.gate, case when w.next ->> 'key' like 'fifo:%' then 0 else w.priority end, -- guard: place.strict
             w.seq, w.job_id, fencepost.clock(), w.tries, w.releases, w.priority, w.failures, w.losses, w.failures_max,
             w.losses_max, w.held, w.local_limit, w.fresh, w.next ->> 'onFull', w.queue, w.task, w.gates
      from waiter w
      order by w.seq
    )
    -- Of each task the newest word on a gate: the others are not heeded.
    select array_agg(row(c.gate, 0, case when c.gate = c.next ->> 'key' then (c.next ->> 'limit')::integer end,
                         (c.next ->> 'local')::integer, c.seq, c.task)::fencepost.nudge)
    into v_calls
    from (
      select distinct on (w.gate, w.task) w.gate, w.task, w.seq, w.next from waiter w order by w.gate, w.task, w.seq desc
    ) c;
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
