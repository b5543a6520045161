-- promote(limit) → (job_id, place)
--
-- Move, for jobs that are due by the database's clock: delayed → place(), parked → place(). Answers the jobs moved and
-- the place they left. Safe from any number of processes at any time.
-- Jobs of strict gates are promoted by one transaction at a time, the others leave them to it: one that was due later, and
-- committed first, would pass the one before it.
-- Locks: an advisory lock, if it is free; rows of `delayed` and `parked`, skipping locked ones. Then those of admit().
create or replace function fencepost.promote(p_limit integer default 1000)
returns table (job_id uuid, place text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_strict boolean;
  v_delayed fencepost.ready[];
  v_parked fencepost.ready[];
  v_calls fencepost.nudge[];
begin
  perform fencepost.durable(); -- guard: promote.durable
  v_strict := pg_try_advisory_xact_lock(hashtext('fencepost.promote'), 0);
  v_now := fencepost.clock();
  with due as (
    delete from fencepost.delayed d
    where d.ctid = any (array(
      select q.ctid from fencepost.delayed q
      where q.due_at <= v_now -- guard: promote.due
        and (v_strict or q.gates is null or q.gates[1] not like 'fifo:%') -- guard: promote.strict
      order by q.due_at
      limit p_limit
      for update skip locked)) -- guard: promote.skip_locked
    returning d.*
  )
  select array_agg(row(d.job_id, d.seq, d.tries, d.releases, d.priority, d.failures, d.losses, d.failures_max,
                       d.losses_max, d.queue, d.task, d.gates, d.held, d.local_limit,
                       d.tries = 0)::fencepost.ready) -- guard: promote.fresh
  into v_delayed
  from due d;

  with due as (
    delete from fencepost.parked d
    where d.ctid = any (array(
      select q.ctid from fencepost.parked q
      where q.due_at <= v_now -- guard: promote.parked_due
      order by q.due_at
      limit p_limit
      for update skip locked)) -- guard: promote.parked_skip_locked
    returning d.*
  )
  select array_agg(row(d.job_id, d.seq, d.tries, d.releases, d.priority, d.failures, d.losses, d.failures_max,
                       d.losses_max, d.queue, d.task, d.gates, d.held, d.local_limit, false)::fencepost.ready)
  into v_parked
  from due d;

  if v_delayed is not null or v_parked is not null then
    v_calls := fencepost.place(coalesce(v_delayed, '{}') || coalesce(v_parked, '{}'));
    if v_calls is not null then
      perform fencepost.admit(v_calls);
    end if;
  end if;
  return query
    select d.job_id, 'delayed' from unnest(v_delayed) as d
    union all
    select d.job_id, 'parked' from unnest(v_parked) as d;
end $$;
