-- One counter for whatever ends a lease without success: a job that is given back is charged as one that has failed.
create or replace function fencepost.release(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_reason text, p_own boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
    with ended as (
      delete from fencepost.leased l
      using unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
      where l.lease_id = a.lease_id and l.job_id = a.job_id and l.nonce = a.nonce
      returning l.*, (l.failures + 1)::smallint as failures_now, l.failures + 1 > l.failures_max as exhausted
    ), put_finished as (
      insert into fencepost.finished
        (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.started_at, 'failed', e.tries, e.releases,
             e.failures_now, e.losses, e.worker, 'failures_exhausted'
      from ended e
      where e.exhausted
    ), put_ready as (
      insert into fencepost.ready
      select e.job_id, e.seq, e.tries, e.releases, e.priority, e.failures_now, e.losses, e.failures_max, e.losses_max,
             e.queue, e.task
      from ended e
      where not e.exhausted
    ), log as (
      insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.claimed_at, e.started_at, 'released', e.worker, p_reason
      from ended e
    )
    select e.job_id, e.lease_id, case when e.exhausted then 'failed' else 'released' end,
           case when e.exhausted then 'failed'::fencepost.outcome end
    from ended e
    order by e.lease_id;
end $$;

-- And so is one whose worker is gone, whether it had started or not.
create or replace function fencepost.lose(p_limit integer default 1000, p_queue text default null)
returns table (job_id uuid, lease_id bigint, worker text, answer text, outcome fencepost.outcome)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
    with ended as (
      delete from fencepost.leased l
      where l.expires_at <= fencepost.clock()
      returning l.*, (l.failures + 1)::smallint as failures_now, l.failures + 1 > l.failures_max as exhausted
    ), put_finished as (
      insert into fencepost.finished
        (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.started_at, 'failed', e.tries, e.releases,
             e.failures_now, e.losses, e.worker, 'failures_exhausted'
      from ended e
      where e.exhausted
    ), put_ready as (
      insert into fencepost.ready
      select e.job_id, e.seq, e.tries, e.releases, e.priority, e.failures_now, e.losses, e.failures_max, e.losses_max,
             e.queue, e.task
      from ended e
      where not e.exhausted
    ), log as (
      insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.claimed_at, e.started_at,
             case when e.started_at is null then 'released' else 'lost' end, e.worker, 'lease_ran_out'
      from ended e
    )
    select e.job_id, e.lease_id, e.worker, case when e.exhausted then 'failed' else 'lost' end,
           case when e.exhausted then 'failed'::fencepost.outcome end
    from ended e
    order by e.lease_id;
end $$;
