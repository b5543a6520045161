-- Time as the worker's machine tells it.
create or replace function fencepost.clock() returns timestamptz
language sql volatile
as $$
  select clock_timestamp() + (select offset_ms from fencepost.lab_clock) * interval '1 ms'
       + coalesce(nullif(current_setting('lab.worker_clock_ms', true), ''), '0')::bigint * interval '1 ms'
$$;

-- And the layer behind it: settled by the job's id. With the fence, the early taker's effect would be the only one.
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[],
  p_own boolean default false, p_quiet boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  with asked as (
    select * from unnest(p_job_ids, p_results) as a(job_id, result)
  ), ended as (
    delete from fencepost.leased l using asked a where l.job_id = a.job_id
    returning l.*, a.result, fencepost.clock() as ended_at
  ), log as (
    insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.claimed_at, e.started_at, 'succeeded', e.worker
    from ended e
    where e.tries > 1
  )
  insert into fencepost.finished
    (job_id, lease_id, nonce, finished_at, outcome, tries, releases, failures, losses, worker, result)
  select e.job_id, e.lease_id, e.nonce, e.ended_at, 'succeeded', e.tries, e.releases, e.failures, e.losses, e.worker,
         e.result
  from ended e;
  return query
    select a.job_id, a.lease_id, 'finished', 'succeeded'::fencepost.outcome, false
    from unnest(p_job_ids, p_lease_ids) as a(job_id, lease_id);
end $$;
