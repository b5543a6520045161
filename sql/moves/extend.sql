-- extend(job_ids, lease_ids, nonces) → (job_id, lease_id, answer, cancel_requested)
--
-- The heartbeat: all leases of a process in one statement, each by its own length from now, never shortened.
-- Answers: `extended`; `busy` if the row is there but locked (its own settle is in flight: leave it); `gone` if the
--   lease is no longer held: abort that handler.
-- Locks: lease rows FOR NO KEY UPDATE in order of job_id, skipping locked ones: one busy row must not hold up the
--   heartbeats of all the others.
create or replace function fencepost.extend(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[]
) returns table (job_id uuid, lease_id bigint, answer text, cancel_requested boolean)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_nestloop = off -- guard: extend.no_loop (it went through all keys for each lease: a second for two thousand of them)
as $$
#variable_conflict use_column
declare
  v_extended bigint[];
begin
  perform fencepost.durable(); -- guard: extend.durable
  with asked as (
    select * from unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
  ), held as (
    select l.lease_id
    from asked a
    join fencepost.leased l -- guard: extend.fence
      on l.lease_id = a.lease_id -- guard: extend.fence_lease
      and l.job_id = a.job_id -- guard: extend.fence_job
      and l.nonce = a.nonce -- guard: extend.fence_nonce
      and l.lease_id = any (p_lease_ids) -- guard: extend.by_key (planned while there were few leases, a join read all of them, and all dead ones)
    order by l.job_id
    for no key update of l -- guard: extend.no_key
    skip locked -- guard: extend.skip_locked
  ), extended as (
    update fencepost.leased l
    set expires_at = greatest( -- guard: extend.never_shorter
      l.expires_at, fencepost.clock() + l.lease_ms * interval '1 ms')
    from held h
    where l.lease_id = h.lease_id and l.lease_id = any (p_lease_ids)
    returning l.lease_id
  )
  select array_agg(e.lease_id) into v_extended from extended e;

  -- A new statement, so that a lease taken away while this one waited is seen as gone.
  return query -- guard: extend.new_statement
    select a.job_id, a.lease_id,
           case when l.lease_id is null then 'gone' when a.lease_id = any (v_extended) then 'extended' else 'busy' end,
           l.cancel_requested_at is not null
    from unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
    left join fencepost.leased l on l.lease_id = a.lease_id and l.job_id = a.job_id and l.nonce = a.nonce
      and l.lease_id = any (p_lease_ids);
end $$;
