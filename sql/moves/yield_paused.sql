-- yield_paused(limit) → (job_id)
--
-- Move: ready → waiting, for gated jobs of a paused queue or task: they give their slots back, but for a strict one, and
-- wait with their seq until the pause ends.
-- Locks: rows of `ready`, skipping locked ones. Then those of admit().
create or replace function fencepost.yield_paused(p_limit integer default 1000) returns table (job_id uuid)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_paused text[];
  v_freed text[];
  v_calls fencepost.nudge[];
  v_yielded fencepost.ready[];
begin
  perform fencepost.durable(); -- guard: yield_paused.durable
  select array_agg(g.key) into v_paused
  from fencepost.gate g where g.paused_at is not null and g.key >= 'pause:' and g.key < 'pause;';
  if v_paused is null then
    return;
  end if;
  with yielded as (
    delete from fencepost.ready r
    where r.ctid = any (array(
      select q.ctid from fencepost.ready q
      where q.gates is not null
        and ('pause:queue:' || q.queue = any (v_paused) or 'pause:task:' || q.task = any (v_paused)) -- guard: yield_paused.paused
        and cardinality(q.gates) > fencepost.fifo_held(q.gates, q.held) -- guard: yield_paused.strict
      order by q.queue, q.priority, q.seq
      limit p_limit
      for update skip locked)) -- guard: yield_paused.skip_locked
    returning r.*
  )
  select array_agg(row(y.job_id, y.seq, y.tries, y.releases, y.priority, y.failures, y.losses, y.failures_max,
                       y.losses_max, y.queue, y.task, y.gates, fencepost.fifo_held(y.gates, y.held), y.local_limit,
                       false)::fencepost.ready),
         (select array_agg(k)
          from yielded g
          cross join lateral unnest(fencepost.given_back(g.gates, g.held, fencepost.fifo_held(g.gates, g.held), null)) as k)
  into v_yielded, v_freed
  from yielded y;
  if v_yielded is not null then
    v_calls := fencepost.place(v_yielded);
    perform fencepost.admit(v_calls || fencepost.hand_over(v_freed, true), true);
  end if;
  return query select y.job_id from unnest(v_yielded) as y;
end $$;
