-- record_late(job_id, lease_id, nonce, said, detail)
--
-- Keeps what a worker said about a lease that it no longer holds: on the attempt's row if the lease's real ending is
-- logged there, otherwise as a row of its own, so that a stale result is never dropped silently. The first thing said
-- stays. Nothing is written for a job that does not exist.
-- Above READ COMMITTED nothing is written of a lease of which nothing is known: the snapshot may be older than the lease,
-- which then looks gone and is not, and the move that ends it will write this very row. (One late word that stood in its
-- way would stop the loss of all other leases, too.)
--
-- Locks: the attempt row.
create or replace function fencepost.record_late(
  p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_said text, p_detail jsonb
) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  insert into fencepost.attempt as a
    (job_id, lease_id, nonce, ended_at, started_at, worker, ending, late_at, late_ending, late)
  select j.id, p_lease_id, p_nonce, coalesce(f.finished_at, fencepost.clock()), f.started_at, f.worker,
         coalesce(f.outcome::text, 'unknown'), fencepost.clock(), p_said, p_detail
  from fencepost.job j -- guard: record_late.job
  left join fencepost.finished f on f.job_id = j.id and f.lease_id = p_lease_id and f.nonce = p_nonce
  where j.id = p_job_id
    and (f.job_id is not null
      or exists (select 1 from fencepost.attempt t
                 where t.job_id = p_job_id and t.lease_id = p_lease_id and t.nonce = p_nonce)
      or current_setting('transaction_isolation') = 'read committed') -- guard: record_late.old_snapshot
  on conflict (job_id, lease_id, nonce) do update
    set late_at = excluded.late_at, late_ending = excluded.late_ending, late = excluded.late
    where a.late_ending is null; -- guard: record_late.first
end $$;
