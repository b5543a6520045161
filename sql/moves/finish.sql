-- finish(job_ids, lease_ids, nonces, results) → (job_id, lease_id, answer, outcome, duplicate)
--
-- Move: leased → finished(succeeded), by the fence. This is the commit boundary: in the caller's transaction it is the
-- last statement before COMMIT.
-- Answers: `finished`; `already` if this very lease finished before (an ambiguous COMMIT asked again); `stale` if the
--   lease is no longer held. A stale result is kept in `attempt`; `outcome` tells how the job ended, if it has.
-- `duplicate`: more than one attempt of this job has now reported success.
-- A cancel that was requested and not yet honoured loses: the work is done, and saying otherwise would be a lie.
-- Locks: lease rows in order of lease_id; a first try still in flight is waited for.
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[]
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_leases bigint[];
  v_retried boolean;
  v_ask record;
begin
  perform fencepost.durable();
  with asked as (
    select * from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) as a(job_id, lease_id, nonce, result)
    order by a.lease_id
  ), ended as (
    delete from fencepost.leased l
    using asked a
    where l.lease_id = a.lease_id and l.job_id = a.job_id and l.nonce = a.nonce -- guard: finish.fence
    returning l.*, a.result, fencepost.clock() as ended_at
  ), put as (
    insert into fencepost.finished
      (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason,
       result)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.started_at, 'succeeded', e.tries, e.releases, e.failures,
           e.losses, e.worker, case when e.cancel_requested_at is not null then 'cancel_came_too_late' end, e.result
    from ended e
  ), log as (
    insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.claimed_at, e.started_at, 'succeeded', e.worker
    from ended e
    where e.tries > 1
  )
  select array_agg(e.job_id), array_agg(e.lease_id), bool_or(e.tries > 1) into v_jobs, v_leases, v_retried
  from ended e;

  if cardinality(v_leases) = cardinality(p_lease_ids) and not v_retried then
    return query select a.job_id, a.lease_id, 'finished', 'succeeded'::fencepost.outcome, false
      from unnest(v_jobs, v_leases) as a(job_id, lease_id);
    return;
  end if;

  -- A new statement: what ended the other leases may have been committed after the first one's snapshot.
  for v_ask in
    select a.*, e.lease_id is not null as ended, f.outcome,
           coalesce(f.lease_id = a.lease_id and f.nonce = a.nonce and f.outcome = 'succeeded', false) as same
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) as a(job_id, lease_id, nonce, result)
    left join unnest(v_jobs, v_leases) as e(job_id, lease_id) on e.job_id = a.job_id and e.lease_id = a.lease_id
    left join fencepost.finished f on f.job_id = a.job_id
    order by a.job_id, a.lease_id
  loop
    job_id := v_ask.job_id;
    lease_id := v_ask.lease_id;
    outcome := v_ask.outcome;
    if v_ask.ended then
      answer := 'finished';
      duplicate := exists (
        select 1 from fencepost.attempt t where t.job_id = v_ask.job_id and t.late_ending = 'succeeded');
    elsif v_ask.same then -- guard: finish.already
      answer := 'already';
      duplicate := false;
    else
      perform fencepost.record_late(v_ask.job_id, v_ask.lease_id, v_ask.nonce, 'succeeded', v_ask.result);
      answer := 'stale';
      duplicate := coalesce(v_ask.outcome = 'succeeded', false);
    end if;
    return next;
  end loop;
end $$;
