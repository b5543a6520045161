-- sqs_delete(queue, queue_ids, job_ids, lease_ids, nonces, tries) → (n, answer)
--
-- Move: leased → finished(succeeded), by the fence. Of a standard queue also ready → finished(succeeded), if the lease has run
-- out and nobody has received the message since: its tries are still what they were.
-- Answers: `deleted`, also if it was before; `expired` (FIFO: the lease has run out); `stale` if the message was received
--   again, or moved: what was said is kept, nothing is done; `invalid` if there never was such a lease, or it was another
--   generation's queue; or one row without a number: `no_queue`.
-- Locks: lease rows in order of lease_id, then rows of `ready`; then those of admit().
create or replace function fencepost.sqs_delete(
  p_queue text, p_queue_ids bigint[], p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_tries integer[]
) returns table (n integer, answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queue fencepost.sqs_queue;
  v_held bigint[];
  v_ask record;
  v_known boolean;
  v_row fencepost.ready;
  v_freed text[] := '{}';
begin
  perform fencepost.durable(); -- guard: sqs_delete.durable
  select * into v_queue from fencepost.sqs_queue q where q.name = p_queue;
  if not found then
    return query select null::integer, 'no_queue';
    return;
  end if;
  if p_queue like '%.fifo' then
    perform fencepost.lose(1000, p_queue); -- guard: sqs_delete.expired
  end if;
  v_held := array(
    select l.lease_id
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_queue_ids) as a(job_id, lease_id, nonce, queue_id)
    join fencepost.leased l on l.lease_id = a.lease_id
      and l.job_id = a.job_id
      and l.nonce = a.nonce -- guard: sqs_delete.fence
    where a.queue_id = v_queue.id -- guard: sqs_delete.generation
    order by l.lease_id
    for update of l);
  if v_held <> '{}' then
    perform fencepost.finish(
      array_agg(a.job_id), array_agg(a.lease_id), array_agg(a.nonce), array_agg(null::jsonb), true)
    from (select distinct on (a.lease_id) * from unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
          where a.lease_id = any (v_held)) a;
  end if;

  for v_ask in
    select a.*, j.queue, j.priority, j.seq
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_tries, p_queue_ids) with ordinality
      as a(job_id, lease_id, nonce, tries, queue_id, n)
    left join fencepost.job j on j.id = a.job_id
    order by a.job_id, a.n
  loop
    n := v_ask.n;
    if v_ask.lease_id = any (v_held) then
      answer := 'deleted';
    elsif v_ask.queue_id <> v_queue.id or v_ask.seq is null then
      answer := 'invalid';
    elsif exists (
      select 1 from fencepost.finished f
      where f.job_id = v_ask.job_id and f.lease_id = v_ask.lease_id and f.nonce = v_ask.nonce)
    then
      answer := 'deleted';
    elsif not exists (
      select 1 from fencepost.attempt t
      where t.job_id = v_ask.job_id and t.lease_id = v_ask.lease_id and t.nonce = v_ask.nonce) -- guard: sqs_delete.known
    then
      answer := 'invalid';
    elsif exists (select 1 from fencepost.finished f where f.job_id = v_ask.job_id and f.lease_id is null) then
      answer := 'deleted'; -- by this lease after it had run out, purged, or expired
    elsif p_queue like '%.fifo' then
      answer := 'expired';
    else
      delete from fencepost.ready r
      where r.queue = p_queue -- guard: sqs_delete.moved
        and r.priority = v_ask.priority and r.seq = v_ask.seq
        and r.tries = v_ask.tries -- guard: sqs_delete.received_again
      returning r.* into v_row;
      if found then
        insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
        values (v_ask.job_id, fencepost.clock(), 'succeeded', v_row.tries, v_row.releases, v_row.failures, v_row.losses,
                'deleted_after_its_lease_ran_out');
        v_freed := v_freed || coalesce(v_row.gates[1 : v_row.held], '{}');
        answer := 'deleted';
      else
        perform fencepost.record_late(v_ask.job_id, v_ask.lease_id, v_ask.nonce, 'succeeded', null);
        answer := 'stale';
      end if;
    end if;
    return next;
  end loop;
  if v_freed <> '{}' then -- after everything that can wait
    perform fencepost.admit(fencepost.hand_over(v_freed, true), true, false);
  end if;
end $$;
