-- hand_over(freed, own) → calls
--
-- Gives slots that have become free to the next waiters, without the gate's lock: the number of holders does not change.
-- `freed` names a gate as often as a slot of it is free. What nobody waits for, or what is above the limit in force, is
-- answered as calls, for admit(). In a transaction that the caller goes on with (not `own`) nothing is handed over: the
-- waiters would be kept waiting until it ends.
-- A limit that is lowered, or a pause, which commits while this is at work, comes after it: the count does not grow, so
-- nobody is above what was in force when it began.
-- Locks: rows of `waiting`, skipping locked ones.
create or replace function fencepost.hand_over(p_freed text[], p_own boolean) returns fencepost.nudge[]
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_keys text[];
  v_counts integer[];
  v_next fencepost.ready[];
  v_closed fencepost.nudge[];
begin
  if p_own and current_setting('transaction_isolation') = 'read committed' then -- guard: hand_over.own
    select array_agg(f.key), array_agg(f.n)
    into v_keys, v_counts
    from (select k as key, count(*)::integer as n from unnest(p_freed) as k group by k) f
    join fencepost.gate g on g.key = f.key
    where g.paused_at is null -- guard: hand_over.paused
      and g.held <= coalesce(g.set_limit, g.declared_limit, fencepost.limit_in_force(g)); -- guard: hand_over.lowered
  end if;
  if v_keys is not null then
    with taken as materialized (
      select * from fencepost.take_waiters(v_keys, v_counts)
    )
    select (select array_agg(row(t.job_id, t.seq, t.tries, t.releases, t.priority, t.failures, t.losses, t.failures_max,
                                 t.losses_max, t.queue, t.task, t.gates, t.held + 1, t.local_limit, t.fresh)
                             ::fencepost.ready) from taken t),
           (select array_agg(row(c.key, c.n, null, null, null, null)::fencepost.nudge)
            from (
              select f.key, f.n - coalesce(t.n, 0) as n
              from (select k as key, count(*)::integer as n from unnest(p_freed) as k group by k) f
              left join (select t.gate, count(*)::integer as n from taken t group by t.gate) t on t.gate = f.key
            ) c
            where c.n > 0) -- guard: hand_over.close
    into v_next, v_closed;
    if v_next is not null then
      return v_closed || fencepost.place(v_next);
    end if;
    return v_closed;
  end if;
  return (
    select array_agg(row(f.key, f.n, null, null, null, null)::fencepost.nudge)
    from (select k as key, count(*)::integer as n from unnest(p_freed) as k group by k) f
  );
end $$;

-- give_back(gates, held, kept, overrun, own): for one job, what hand_over and admit do for many
create or replace function fencepost.give_back(
  p_gates text[], p_held smallint, p_kept smallint, p_overrun text[], p_own boolean
) returns void
language plpgsql
as $$
declare
  v_freed text[];
begin
  if p_gates is not null then
    v_freed := fencepost.given_back(p_gates, p_held, p_kept, p_overrun);
    if v_freed <> '{}' then
      perform fencepost.admit(fencepost.hand_over(v_freed, p_own), p_own, false);
    end if;
  end if;
end $$;
