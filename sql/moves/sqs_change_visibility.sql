-- sqs_change_visibility(queue, queue_ids, job_ids, lease_ids, nonces, visible_ms) → (n, answer)
--
-- Makes leases without a heartbeat last `visible_ms` from now; leased → place(), by release, for 0.
-- Answers: `changed`; `not_in_flight` if the lease has run out or ended; `too_long` if it would last more than twelve hours
--   since the message was received; `invalid` if there never was such a lease; or one row without a number: `no_queue`.
-- Locks: lease rows in order of lease_id; then those of release().
create or replace function fencepost.sqs_change_visibility(
  p_queue text, p_queue_ids bigint[], p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_visible_ms integer[]
) returns table (n integer, answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queue fencepost.sqs_queue;
  v_held integer[];
  v_changed bigint[];
  v_now timestamptz;
begin
  perform fencepost.durable(); -- guard: sqs_change_visibility.durable
  select * into v_queue from fencepost.sqs_queue q where q.name = p_queue;
  if not found then
    return query select null::integer, 'no_queue';
    return;
  end if;
  perform 1 from fencepost.leased l where l.lease_id = any (p_lease_ids) order by l.lease_id for update; -- guard: sqs_change_visibility.lock_order
  v_now := fencepost.clock(); -- after the locks
  v_held := array(
    select a.n
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_queue_ids) with ordinality as a(job_id, lease_id, nonce, queue_id, n)
    join fencepost.leased l on l.lease_id = a.lease_id and l.job_id = a.job_id
      and l.lease_id = any (p_lease_ids) -- guard: sqs_change_visibility.by_key (planned while there were few leases, a join read all of them, and all dead ones)
      and l.queue = p_queue -- guard: sqs_change_visibility.queue
      and l.nonce = a.nonce -- guard: sqs_change_visibility.fence
    where a.queue_id = v_queue.id
      and l.visible_at > v_now); -- guard: sqs_change_visibility.in_flight
  with changed as (
    update fencepost.leased l
    set visible_at = v_now + a.visible_ms * interval '1 ms', expires_at = v_now + a.visible_ms * interval '1 ms',
        lease_ms = a.visible_ms
    from unnest(p_lease_ids, p_visible_ms) with ordinality as a(lease_id, visible_ms, n)
    where l.lease_id = a.lease_id and l.lease_id = any (p_lease_ids) and a.visible_ms > 0
      and a.n = any (v_held) -- guard: sqs_change_visibility.true_receipt (of one lease there may be a forged one, too)
      and v_now + a.visible_ms * interval '1 ms' <= l.claimed_at + interval '12 hours' -- guard: sqs_change_visibility.twelve_hours
    returning l.lease_id
  )
  select coalesce(array_agg(c.lease_id), '{}') into v_changed from changed c;
  if exists (select 1 from unnest(p_visible_ms) with ordinality as a(ms, n) where a.ms = 0 and a.n = any (v_held)) then
    perform fencepost.release(
      array_agg(a.job_id), array_agg(a.lease_id), array_agg(a.nonce), 'visibility_set_to_0', true)
    from (select distinct on (a.lease_id) *
          from unnest(p_job_ids, p_lease_ids, p_nonces, p_visible_ms) with ordinality as a(job_id, lease_id, nonce, visible_ms, n)
          where a.visible_ms = 0 and a.n = any (v_held)) a;
  end if;
  -- A server that waits for messages has to know when the next one is due.
  perform pg_notify('fencepost.ready', p_queue)
  where v_changed <> '{}' and exists (select 1 from fencepost.sleeper s where s.queue = p_queue);
  return query
    select a.n::integer,
           case when a.n = any (v_held) and (a.visible_ms = 0 or a.lease_id = any (v_changed)) then 'changed'
                when a.n = any (v_held) then 'too_long'
                when a.queue_id = v_queue.id and (t.job_id is not null or f.job_id is not null or l.job_id is not null)
                  then 'not_in_flight'
                else 'invalid' end
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_visible_ms, p_queue_ids) with ordinality
      as a(job_id, lease_id, nonce, visible_ms, queue_id, n)
    left join fencepost.leased l on l.lease_id = a.lease_id and l.job_id = a.job_id and l.nonce = a.nonce and l.queue = p_queue
      and l.lease_id = any (p_lease_ids)
    left join fencepost.attempt t on t.job_id = a.job_id and t.lease_id = a.lease_id and t.nonce = a.nonce
    left join fencepost.finished f on f.job_id = a.job_id and f.lease_id = a.lease_id and f.nonce = a.nonce;
end $$;
