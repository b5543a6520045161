-- finish(job_ids, lease_ids, nonces, results, own, quiet) → (job_id, lease_id, answer, outcome, duplicate)
--
-- Move: leased → finished(succeeded), by the fence. This is the commit boundary: in the caller's transaction it is the
-- last statement before COMMIT.
-- Answers: `finished`; `already` if this very lease finished before (an ambiguous COMMIT asked again); `stale` if the
--   lease is no longer held. A stale result is kept in `attempt`; `outcome` tells how the job ended, if it has.
-- `duplicate`: another attempt of this job has reported success, too. (Of a first try that finishes nothing is looked up:
--   an attempt unknown to us, after a failover, that reported success before it is found by `fencepost audit`.)
-- A cancel that was requested and not yet honoured loses: the work is done, and saying otherwise would be a lie.
-- A result that is null is not stored.
-- `own`: this statement is all of its transaction, and may hand slots over and admit others through their gates.
-- `quiet`: if all is as it should be (each `finished`, none a duplicate), nothing is answered.
-- Locks: lease rows in order of lease_id; a first try still in flight is waited for. Then those of admit().
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[],
  p_own boolean default false, p_quiet boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off -- guard: finish.in_order (it locks in the order of the heap)
as $$
#variable_conflict use_column
declare
  v_first bigint;
  v_last bigint;
  v_ended record;
  v_ask record;
  v_answer text;
  v_told_jobs uuid[];
  v_told_leases bigint[];
  v_told_nonces bigint[];
  v_answers text[];
  v_loops text := current_setting('enable_nestloop');
  v_no_loops text;
begin
  if current_setting('synchronous_commit') = 'off' then -- guard: finish.durable
    perform fencepost.durable();
  end if;
  -- Planned while the table was large and had been emptied, the join would be a nested loop, and go through all keys for each
  -- lease. Only here: what this calls is to be planned as always.
  v_no_loops := set_config('enable_nestloop', 'off', true); -- guard: finish.no_loop
  -- Leases that were claimed together have numbers next to each other: to go along these takes a third of what it takes to look up
  -- each by itself. Not if many of others lie between.
  select min(i), max(i) into v_first, v_last from unnest(p_lease_ids) as i;
  v_ended := case when v_last - v_first < 4 * cardinality(p_lease_ids) -- guard: finish.far_apart
    then fencepost.end_leases_between(p_job_ids, p_lease_ids, p_nonces, p_results, v_first, v_last)
    else fencepost.end_leases(p_job_ids, p_lease_ids, p_nonces, p_results, v_first, v_last) end;
  v_loops := set_config('enable_nestloop', v_loops, true); -- guard: finish.loops_again
  if v_ended.retried is not null then
    insert into fencepost.attempt select * from unnest(v_ended.retried);
  end if;

  if cardinality(v_ended.leases) = cardinality(p_lease_ids) and v_ended.retried is null then -- guard: finish.duplicate
    if v_ended.freed is not null then
      perform fencepost.admit(fencepost.hand_over(v_ended.freed, p_own), p_own, false);
    end if;
    if not p_quiet then
      return query select a.job_id, a.lease_id, 'finished', 'succeeded'::fencepost.outcome, false
        from unnest(p_job_ids, p_lease_ids) as a(job_id, lease_id);
    end if;
    return;
  end if;

  -- A new statement: what ended the other leases may have been committed after the first one's snapshot.
  for v_ask in
    select a.*, coalesce(a.lease_id = any (v_ended.leases), false) as ended,
           coalesce(f.lease_id = a.lease_id and f.nonce = a.nonce and f.outcome = 'succeeded', false) as same -- guard: finish.answer_nonce
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) with ordinality as a(job_id, lease_id, nonce, result, n)
    left join fencepost.finished f on f.job_id = a.job_id -- guard: finish.new_statement
    order by a.job_id, a.lease_id, a.nonce, a.n
  loop
    if v_ask.same and v_ask.ended then
      v_answer := 'finished';
    elsif v_ask.same then -- guard: finish.already
      v_answer := 'already';
    else
      perform fencepost.record_late( -- guard: finish.late
        v_ask.job_id, v_ask.lease_id, v_ask.nonce, 'succeeded', v_ask.result);
      v_answer := 'stale';
    end if;
    v_told_jobs := v_told_jobs || v_ask.job_id;
    v_told_leases := v_told_leases || v_ask.lease_id;
    v_told_nonces := v_told_nonces || v_ask.nonce;
    v_answers := v_answers || v_answer;
  end loop;
  if v_ended.freed is not null then -- after everything that can wait
    perform fencepost.admit(fencepost.hand_over(v_ended.freed, p_own), p_own, false);
  end if;

  return query
    select a.job_id, a.lease_id, a.answer, f.outcome,
           coalesce(f.outcome = 'succeeded' and (f.lease_id, f.nonce) <> (a.lease_id, a.nonce), false)
             or exists (select 1 from fencepost.attempt t -- what this very call said late is there, too
                        where t.job_id = a.job_id and t.late_ending = 'succeeded'
                          and (t.lease_id, t.nonce) <> (a.lease_id, a.nonce))
    from unnest(v_told_jobs, v_told_leases, v_told_nonces, v_answers) with ordinality
      as a(job_id, lease_id, nonce, answer, n)
    left join fencepost.finished f on f.job_id = a.job_id
    order by a.n;
end $$;

-- end_leases(job_ids, lease_ids, nonces, results, first, last) → (leases, retried, freed)
--
-- A part of finish: deletes the leases whose fence holds and records their outcomes. Answers which they were, what is to be logged of
-- those that were not the first of their job, and the slots they held. It sets nothing, as pick(). `first` and `last` are for
-- end_leases_between.
-- Locks: lease rows in order of lease_id; a first try still in flight is waited for.
create or replace function fencepost.end_leases(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[], p_first bigint, p_last bigint,
  out leases bigint[], out retried fencepost.attempt[], out freed text[]
)
language plpgsql
as $$
#variable_conflict use_column
begin
  with asked as (
    -- Only what is sorted is a column: each of the others would be put together and taken apart again for every lease.
    select a.lease_id, a.n from unnest(p_lease_ids) with ordinality as a(lease_id, n)
    order by a.lease_id -- guard: finish.lock_order
  ), ended as (
    delete from fencepost.leased l
    using asked a -- guard: finish.fence
    where l.lease_id = a.lease_id -- guard: finish.fence_lease
      and l.job_id = p_job_ids[a.n] -- guard: finish.fence_job
      and l.nonce = p_nonces[a.n] -- guard: finish.fence_nonce
      and l.lease_id = any (p_lease_ids) -- guard: finish.by_key (planned while there were few leases, a join read all of them, and all dead ones)
    returning l.job_id, l.lease_id, l.nonce, l.claimed_at, coalesce(l.started_at, l.claimed_at) as started_at, l.tries,
              l.releases, l.failures, l.losses, l.worker, l.cancel_requested_at, l.gates, l.overrun,
              nullif(p_results[a.n], 'null') as result, fencepost.clock() as ended_at -- guard: finish.clock
  ), put as (
    insert into fencepost.finished
      (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason,
       result)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.started_at, 'succeeded', e.tries, e.releases, e.failures, e.losses,
           e.worker, case when e.cancel_requested_at is not null then 'cancel_came_too_late' end, e.result
    from ended e
  )
  select array_agg(e.lease_id),
         array_agg(row(e.job_id, e.lease_id, e.nonce, e.ended_at, e.claimed_at, e.started_at, null, null, null,
                       'succeeded', null, e.worker, null, null, null)::fencepost.attempt)
           filter (where e.tries > 1), -- guard: finish.log
         -- Most have one gate, and hold it: to go through all of them again would cost as much as their look-up.
         case when bool_or(cardinality(e.gates) > 1 or e.overrun is not null) then ( -- guard: finish.one_gate
           select array_agg(k) -- guard: finish.slots (only of leases that this has ended)
           from (select unnest(g.gates) as k, g.overrun from ended g) g
           where g.overrun is null or k <> all (g.overrun)) -- guard: finish.overrun
         else array_agg(e.gates[1]) filter (where e.gates is not null) end -- guard: finish.slot
  into leases, retried, freed
  from ended e;
end $$;

-- end_leases_between(…): the same, along the numbers from the first to the last of them.
do $$ begin
  execute replace(replace(pg_get_functiondef('fencepost.end_leases'::regproc), '.end_leases(', '.end_leases_between('),
    'and l.lease_id = any (p_lease_ids)', 'and l.lease_id between p_first and p_last');
end $$;
