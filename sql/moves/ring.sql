-- ring(limit) → how many timers of runs were due
--
-- Tells runs of the timers that are due by the database's clock. Safe from any number of processes at any time.
-- Locks: rows of `timer`, skipping locked ones.
create or replace function fencepost.ring(p_limit integer default 1000) returns integer
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := fencepost.clock();
  v_runs uuid[];
  v_count integer;
begin
  perform fencepost.durable(); -- guard: ring.durable
  with due as (
    delete from fencepost.timer t
    where t.ctid = any (array(
      select q.ctid from fencepost.timer q
      where q.due_at <= v_now -- guard: ring.due
      order by q.due_at
      limit p_limit
      for update skip locked)) -- guard: ring.skip_locked
    returning t.*
  ), told as (
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, payload)
    select d.run_id, d.due_at, 'timer', d.task, d.ordinal, to_jsonb(d.kind) from due d order by d.due_at
    returning run_id
  )
  select array_agg(distinct t.run_id), count(*) into v_runs, v_count from told t;
  if v_runs is not null then
    perform fencepost.call_runs(v_runs);
  end if;
  return v_count;
end $$;
