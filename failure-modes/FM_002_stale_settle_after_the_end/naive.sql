-- Settle by the job's id: wherever the job is, it goes back to be tried again, and is charged a failure.
create or replace function fencepost.fail(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_errors jsonb[], p_delays_ms bigint[],
  p_finals boolean[], p_own boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome)
language plpgsql
as $$
#variable_conflict use_column
begin
  with running as (
    delete from fencepost.leased l where l.job_id = any (p_job_ids)
    returning l.job_id, tries, releases, failures, losses
  ), ended as (
    delete from fencepost.finished f where f.job_id = any (p_job_ids)
    returning f.job_id, tries, releases, failures, losses
  )
  insert into fencepost.ready
  select j.id, j.seq, o.tries, o.releases, j.priority, o.failures + 1, o.losses, j.failures_max, j.losses_max, j.queue,
         j.task
  from (select * from running union all select * from ended) o
  join fencepost.job j on j.id = o.job_id;
  return query
    select a.job_id, a.lease_id, 'retrying', null::fencepost.outcome
    from unnest(p_job_ids, p_lease_ids) as a(job_id, lease_id);
end $$;
