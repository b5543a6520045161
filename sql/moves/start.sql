-- start(job_ids, lease_ids, nonces) → (job_id, lease_id, answer, cancel_requested)
--
-- Marks leases as started, before their handlers run: a lease that is lost later costs its job a loss only if it was. And
-- from then on its time with a gate counts (see overrun).
-- Answers: `started` (also when asked again); `stale` if the lease is gone: the handler must not run.
-- Locks: the lease rows.
create or replace function fencepost.start(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[]
) returns table (job_id uuid, lease_id bigint, answer text, cancel_requested boolean)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_nestloop = off -- guard: start.no_loop (planned while the table was large and had been emptied, it went through all keys for each lease)
set enable_bitmapscan = off -- guard: start.in_order (it locks in the order of the heap)
as $$
#variable_conflict use_column
begin
  perform fencepost.durable(); -- guard: start.durable
  return query
    with asked as (
      select * from unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
      order by a.lease_id -- guard: start.lock_order
    ), marked as (
      update fencepost.leased l
      set started_at = coalesce(l.started_at, fencepost.clock()), -- guard: start.first
          overrun_at = case when l.started_at is null and l.gates is not null then ( -- guard: start.overrun
            select fencepost.clock() + fencepost.overrun_ms(j.gates) * interval '1 ms'
            from fencepost.job j where j.id = l.job_id and j.gates @? '$[*].overrunMs') else l.overrun_at end
      from asked a -- guard: start.fence
      where l.lease_id = a.lease_id -- guard: start.fence_lease
        and l.job_id = a.job_id -- guard: start.fence_job
        and l.nonce = a.nonce -- guard: start.fence_nonce
        and l.lease_id = any (p_lease_ids) -- guard: start.by_key (planned while there were few leases, a join read all of them, and all dead ones)
      returning l.job_id, l.lease_id, l.nonce, l.cancel_requested_at is not null as cancel_requested
    )
    select a.job_id, a.lease_id, case when m.lease_id is null then 'stale' else 'started' end,
           coalesce(m.cancel_requested, false)
    from asked a
    left join marked m on m.lease_id = a.lease_id and m.job_id = a.job_id
      and m.nonce = a.nonce; -- guard: start.answer_nonce
end $$;
