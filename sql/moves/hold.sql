-- hold(job_id, lease_id, nonce, ms) → boolean
--
-- Makes a lease last at least `ms` from now, once, for a transaction above READ COMMITTED: a heartbeat would change the
-- row under it, and its settle would fail. False if the lease is gone.
-- Locks: the lease row.
create or replace function fencepost.hold(p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_ms bigint)
returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  perform fencepost.durable(); -- guard: hold.durable
  update fencepost.leased l
  set expires_at = greatest(l.expires_at, fencepost.clock() + p_ms * interval '1 ms') -- guard: hold.length
  where l.lease_id = p_lease_id and l.job_id = p_job_id
    and l.nonce = p_nonce; -- guard: hold.fence
  return found;
end $$;
