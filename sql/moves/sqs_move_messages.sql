-- sqs_move_messages(limit) → whether there is more to do
--
-- Goes on with one of the tasks that bring messages back from a dead-letter queue: ready → finished(discarded), and in the
-- same transaction a new message of the same content, with a new id and counters that begin again, in the task's destination
-- or the queue where the message came from. Counters never go back, and a message that kept its own would be dead at once.
-- From any number of servers. Locks: the task's row, skipping; rows of `ready`, skipping; the queues that they go to, shared,
-- if they are free; then those of enqueue_many.
create or replace function fencepost.sqs_move_messages(p_limit integer default 100) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_task fencepost.sqs_move_task;
  v_now timestamptz;
  v_limit integer := p_limit;
  v_moved integer;
  v_rows tid[];
  v_lost text;
  v_new uuid[];
  v_old uuid[];
  v_failures_max smallint[];
  v_freed text[];
  v_done boolean;
begin
  perform fencepost.durable();
  v_now := fencepost.clock();
  select * into v_task from fencepost.sqs_move_task t
  where t.status in ('RUNNING', 'CANCELLING')
    and (t.status = 'CANCELLING' or t.per_second is null or t.moved_at is null or t.moved_at <= v_now - interval '1 second') -- guard: sqs_move_messages.rate
  order by t.moved_at nulls first
  limit 1
  for update skip locked; -- guard: sqs_move_messages.one_server
  if not found then
    return false;
  end if;
  if v_task.status = 'CANCELLING' then
    update fencepost.sqs_move_task t set status = 'CANCELLED', ended_at = v_now where t.id = v_task.id;
    return true;
  end if;
  v_limit := coalesce(v_task.per_second, p_limit); -- all that it may in this second: the next turn is in the next one

  -- Locked first, and nothing else is moved: behind one that is locked there may be others, of queues that are gone.
  v_rows := array(
    select q.ctid from fencepost.ready q
    where q.queue = v_task.source and q.seq <= v_task.until_seq -- guard: sqs_move_messages.until
    order by q.priority, q.seq
    limit v_limit
    for update skip locked); -- guard: sqs_move_messages.skip_locked
  -- The queues that they go to, shared, against their deletion. If one is just being deleted, it is asked for later.
  if exists (
    select 1
    from (
      select distinct hashtext(coalesce(v_task.destination, j.dead_from)) as lock
      from fencepost.ready r
      join fencepost.job j on j.id = r.job_id
      where r.ctid = any (v_rows) and coalesce(v_task.destination, j.dead_from) is not null
    ) t
    where not pg_try_advisory_xact_lock_shared(hashtext('fencepost.sqs'), t.lock) -- guard: sqs_move_messages.target
  ) then
    return false;
  end if;
  -- A new statement: what was deleted before the locks is seen as gone.
  select min(coalesce(v_task.destination, j.dead_from, '?')) into v_lost
  from fencepost.ready r
  join fencepost.job j on j.id = r.job_id
  where r.ctid = any (v_rows)
    and not exists (select 1 from fencepost.sqs_queue q where q.name = coalesce(v_task.destination, j.dead_from));
  if v_lost is not null then -- guard: sqs_move_messages.gone
    update fencepost.sqs_move_task t
    set status = 'FAILED', ended_at = v_now,
        failure = case when v_lost = '?' then 'CouldNotDetermineMessageSource' else 'AWS.SimpleQueueService.NonExistentQueue' end
    where t.id = v_task.id;
    return true;
  end if;

  with gone as (
    delete from fencepost.ready r
    where r.ctid = any (v_rows)
    returning r.*, fencepost.new_id() as new_id
  ), put as (
    insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason, result)
    select g.job_id, v_now, 'discarded', g.tries, g.releases, g.failures, g.losses, 'moved', to_jsonb(g.new_id)
    from gone g
  )
  select array_agg(g.new_id order by g.seq), array_agg(g.job_id order by g.seq), array_agg(g.failures_max order by g.seq),
         (select array_agg(k) from gone f cross join lateral unnest(f.gates[1 : f.held]) as k where f.gates is not null)
  into v_new, v_old, v_failures_max, v_freed
  from gone g;
  v_moved := coalesce(cardinality(v_new), 0);
  if v_moved > 0 then
    perform fencepost.enqueue_many(
      array_agg(m.new_id order by m.n), array_agg(case when m.task = v_task.source then m.target else m.task end order by m.n),
      array_agg(m.payload order by m.n), array_agg(m.target order by m.n), array_agg(0::smallint), array_agg(0::bigint),
      array_agg(m.failures_max order by m.n), array_agg(5::smallint), array_agg(30000),
      array_agg(fencepost.sqs_moved_gates(m.gates, v_task.source, m.target) order by m.n), true)
    from (
      select a.*, j.task, j.payload, j.gates, coalesce(v_task.destination, j.dead_from) as target
      from unnest(v_new, v_old, v_failures_max) with ordinality as a(new_id, old_id, failures_max, n)
      join fencepost.job j on j.id = a.old_id
    ) m;
  end if;
  if v_freed is not null then
    perform fencepost.admit(fencepost.hand_over(v_freed, true), true, false);
  end if;

  -- What is left may be what others have locked: the next round looks again, not this one.
  v_done := v_moved = 0 and not exists (
    select 1 from fencepost.ready r where r.queue = v_task.source and r.seq <= v_task.until_seq); -- guard: sqs_move_messages.left
  update fencepost.sqs_move_task t
  set moved = t.moved + v_moved, moved_at = v_now,
      status = case when v_done then 'COMPLETED' else t.status end,
      ended_at = case when v_done then v_now end
  where t.id = v_task.id;
  return v_moved > 0 or v_done;
end $$;
