-- The lease must exist, but it may be anybody's: the state is checked, the owner is not.
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[]
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
    with asked as (
      select * from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) as a(job_id, lease_id, nonce, result)
    ), ended as (
      delete from fencepost.leased l using asked a where l.job_id = a.job_id returning l.*, a.lease_id as by, a.nonce as by_nonce, a.result
    ), put as (
      insert into fencepost.finished
        (job_id, lease_id, nonce, finished_at, outcome, tries, releases, failures, losses, result)
      select e.job_id, e.by, e.by_nonce, fencepost.clock(), 'succeeded', e.tries, e.releases, e.failures, e.losses, e.result
      from ended e
    )
    select a.job_id, a.lease_id, case when e.job_id is null then 'stale' else 'finished' end,
           'succeeded'::fencepost.outcome, false
    from asked a left join ended e on e.job_id = a.job_id;
end $$;
