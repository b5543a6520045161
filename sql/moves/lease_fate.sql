-- lease_fate(job_id, lease_id, nonce) → text
--
-- What became of a lease that was settled in a transaction whose end is not known: `held`: that transaction did not
-- commit; `finished`: this very lease has finished its job; `gone`: it ended otherwise.
-- Locks: the lease row, and so waits for a transaction that is still settling it.
create or replace function fencepost.lease_fate(p_job_id uuid, p_lease_id bigint, p_nonce bigint)
returns text
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  perform 1
  from fencepost.leased l
  where l.lease_id = p_lease_id and l.job_id = p_job_id and l.nonce = p_nonce
  for update; -- guard: lease_fate.wait
  if found then
    return 'held';
  end if;
  -- A new statement: what was waited for may have been committed after the first one's snapshot.
  if exists (
    select 1 from fencepost.finished f
    -- guard: lease_fate.succeeded
    where f.job_id = p_job_id and f.lease_id = p_lease_id and f.nonce = p_nonce and f.outcome = 'succeeded' -- guard: lease_fate.own
  ) then
    return 'finished';
  end if;
  return 'gone';
end $$;
