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
  v_taken record;
  v_calls fencepost.nudge[];
begin
  if p_own and current_setting('transaction_isolation') = 'read committed' then -- guard: hand_over.own
    select array_agg(f.key), array_agg(f.n)
    into v_keys, v_counts
    from (select k as key, count(*)::integer as n from unnest(p_freed) as k group by k) f
    join fencepost.gate g on g.key = f.key
    where g.paused_at is null -- guard: hand_over.paused
      and g.held <= coalesce(g.set_limit, g.declared_limit, fencepost.limit_in_force(g)); -- guard: hand_over.lowered
  end if;
  v_taken := fencepost.take_waiters(v_keys, v_counts);
  if v_taken.taken is not null then
    v_calls := fencepost.place(v_taken.taken);
    if cardinality(v_taken.gates) = cardinality(p_freed) then
      return v_calls;
    end if;
  end if;
  return v_calls || (
    select array_agg(row(f.key, f.n, null, null, null, null)::fencepost.nudge)
    from (
      select c.key, sum(c.n)::integer as n
      from (
        select k as key, 1 as n from unnest(p_freed) as k
        union all
        select k, -1 from unnest(v_taken.gates) as k
      ) c
      group by c.key
    ) f
    where f.n > 0 -- guard: hand_over.close
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
