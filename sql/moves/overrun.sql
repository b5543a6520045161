-- overrun(limit) → (job_id, lease_id, key)
--
-- A slot whose holder has run for longer than its gate's `overrun` allows is given to the next: the lease is marked,
-- and no longer counted. Its end then frees nothing there.
-- Locks: lease rows, skipping locked ones. Then those of admit().
create or replace function fencepost.overrun(p_limit integer default 1000)
returns table (job_id uuid, lease_id bigint, key text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := fencepost.clock();
  v_jobs uuid[];
  v_leases bigint[];
  v_keys text[];
begin
  perform fencepost.durable(); -- guard: overrun.durable
  with late as (
    -- What is locked is told, not what the snapshot shows: another may have marked this lease a moment ago.
    select l.lease_id, l.job_id, coalesce(l.started_at, l.claimed_at) as since, l.overrun
    from fencepost.leased l
    where l.overrun_at <= v_now
    order by l.overrun_at
    limit p_limit
    for no key update skip locked -- guard: overrun.skip_locked
  ), judged as (
    select l.lease_id, l.job_id, l.overrun,
           array(select g ->> 'key' from jsonb_array_elements(j.gates) as g
                 where l.since + (g ->> 'overrunMs')::bigint * interval '1 ms' <= v_now) as over,
           (select min(l.since + (g ->> 'overrunMs')::bigint * interval '1 ms')
            from jsonb_array_elements(j.gates) as g
            where l.since + (g ->> 'overrunMs')::bigint * interval '1 ms' > v_now) as next_at
    from late l -- guard: overrun.locked_row
    join fencepost.job j on j.id = l.job_id
  ), marked as (
    update fencepost.leased l
    set overrun = o.over, overrun_at = o.next_at -- guard: overrun.mark
    from judged o
    where l.lease_id = o.lease_id
      and l.lease_id = any (array(select k.lease_id from judged k)) -- guard: overrun.by_key (planned while there were few leases, a join read all of them, and all dead ones)
  )
  select array_agg(o.job_id), array_agg(o.lease_id), array_agg(k)
  into v_jobs, v_leases, v_keys
  from judged o
  cross join lateral unnest(o.over) as k
  where o.overrun is null or k <> all (o.overrun); -- guard: overrun.once

  if v_keys is not null then
    perform fencepost.admit(fencepost.hand_over(v_keys, true), true, false);
  end if;
  return query select * from unnest(v_jobs, v_leases, v_keys);
end $$;
