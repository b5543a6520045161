-- sqs_delete(queue, queue_ids, job_ids, lease_ids, nonces, tries) → (n, answer)
--
-- Move: leased → finished(succeeded), by the fence. Of a standard queue also ready → finished(succeeded), if the lease has run
-- out and nobody has received the message since: its tries are still what they were.
-- Answers, by the number of the message: `deleted`, also if it was before; `expired` (FIFO: the lease has run out); `stale`
--   if the message was received again, or moved: what was said is kept, nothing is done; `invalid` if there never was such
--   a lease, or it was another generation's queue; or one row without a number, for all: `no_queue`, `deleted`.
-- Locks: rows of `ready` in order of job_id, then lease rows in order of lease_id; then those of admit().
create or replace function fencepost.sqs_delete(
  p_queue text, p_queue_ids bigint[], p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_tries integer[]
) returns table (n integer, answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queue fencepost.sqs_queue;
  v_held integer[];
  v_ask record;
  v_row fencepost.ready;
  v_freed text[] := '{}';
  v_answers text[] := array_fill(null::text, array[cardinality(p_job_ids)]);
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
  -- Twice at most: a lease that is there in the first look may run out and be taken back before it is locked.
  for v_round in 1 .. 2 loop -- guard: sqs_delete.twice
    -- What has run out comes first, as cancel() locks: jobs that do not run before those that do.
    if p_queue not like '%.fifo' and exists (
      select 1 from unnest(p_lease_ids, v_answers) as a(lease_id, answer)
      where a.answer is null and not exists (select 1 from fencepost.leased l where l.lease_id = a.lease_id))
    then
      for v_ask in
        select a.n, a.job_id, a.lease_id, a.nonce, a.tries, j.priority, j.seq
        from unnest(p_job_ids, p_lease_ids, p_nonces, p_tries, p_queue_ids) with ordinality
          as a(job_id, lease_id, nonce, tries, queue_id, n)
        join fencepost.job j on j.id = a.job_id
        where v_answers[a.n] is null and a.queue_id = v_queue.id
          and exists (select 1 from fencepost.attempt t
                      where t.job_id = a.job_id and t.lease_id = a.lease_id and t.nonce = a.nonce) -- guard: sqs_delete.known
        order by a.job_id, a.n
      loop
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
          v_answers[v_ask.n] := 'deleted';
          if v_round = 2 then -- what the first round has kept as said too late was heeded after all
            update fencepost.attempt t set late_at = null, late_ending = null, late = null
            where t.job_id = v_ask.job_id and t.lease_id = v_ask.lease_id and t.nonce = v_ask.nonce;
          end if;
        end if;
      end loop;
    end if;

    v_held := array(
      select a.n
      from unnest(p_job_ids, p_lease_ids, p_nonces, p_queue_ids) with ordinality as a(job_id, lease_id, nonce, queue_id, n)
      join fencepost.leased l on l.lease_id = a.lease_id
        and l.job_id = a.job_id
        and l.nonce = a.nonce -- guard: sqs_delete.fence
        and l.queue = p_queue -- guard: sqs_delete.queue
      where a.queue_id = v_queue.id); -- guard: sqs_delete.generation
    if cardinality(v_held) = cardinality(p_job_ids) then -- guard: sqs_delete.all (nearly always)
      if not exists (
        select 1 from fencepost.finish(
          p_job_ids, p_lease_ids, p_nonces, array_fill(null::jsonb, array[cardinality(p_job_ids)]), true) f
        where f.answer = 'stale') -- guard: sqs_delete.all_held
      then
        return query select null::integer, 'deleted';
        return;
      end if;
    elsif v_held <> '{}' then
      v_answers := array(
        select case when f.lease_id is not null and a.n = any (v_held) then 'deleted' else v_answers[a.n] end
        from unnest(p_lease_ids) with ordinality as a(lease_id, n)
        left join (
          select f.lease_id
          from (
            select array_agg(d.job_id) as jobs, array_agg(d.lease_id) as leases, array_agg(d.nonce) as nonces,
                   array_agg(null::jsonb) as results
            from (select distinct on (a.lease_id) *
                  from unnest(p_job_ids, p_lease_ids, p_nonces) with ordinality as a(job_id, lease_id, nonce, n)
                  where a.n = any (v_held)) d -- guard: sqs_delete.true_receipt (of one lease there may be a forged one, too)
          ) h
          cross join lateral fencepost.finish(h.jobs, h.leases, h.nonces, h.results, true) f
          where f.answer <> 'stale'
        ) f on f.lease_id = a.lease_id
        order by a.n);
    end if;
    exit when array_position(v_answers, null) is null;
  end loop;

  for v_ask in
    select a.*, f.job_id is not null and (f.lease_id is null or (f.lease_id, f.nonce) = (a.lease_id, a.nonce)) as ended,
           t.job_id is not null or (f.lease_id, f.nonce) = (a.lease_id, a.nonce) as known
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_queue_ids) with ordinality as a(job_id, lease_id, nonce, queue_id, n)
    left join fencepost.attempt t on t.job_id = a.job_id and t.lease_id = a.lease_id and t.nonce = a.nonce
    left join fencepost.finished f on f.job_id = a.job_id
    where v_answers[a.n] is null
    order by a.job_id, a.lease_id, a.nonce, a.n
  loop
    if v_ask.queue_id <> v_queue.id or v_ask.known is not true then
      v_answers[v_ask.n] := 'invalid';
    elsif v_ask.ended then -- guard: sqs_delete.again (by this lease, after it had run out, by a purge, or for its age)
      v_answers[v_ask.n] := 'deleted';
    elsif p_queue like '%.fifo' then
      v_answers[v_ask.n] := 'expired';
    else
      perform fencepost.record_late(v_ask.job_id, v_ask.lease_id, v_ask.nonce, 'succeeded', null);
      v_answers[v_ask.n] := 'stale';
    end if;
  end loop;
  if v_freed <> '{}' then -- after everything that can wait
    perform fencepost.admit(fencepost.hand_over(v_freed, true), true, false);
  end if;
  return query select a.n::integer, a.answer from unnest(v_answers) with ordinality as a(answer, n);
end $$;
