-- What most queues do: settle by the job's id. The fence is gone, and with it the primary key as the last line of
-- defence: a second success overwrites the first.
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[],
  p_own boolean default false, p_quiet boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  delete from fencepost.leased l where l.job_id = any (p_job_ids);
  insert into fencepost.finished (job_id, lease_id, nonce, finished_at, outcome, tries, releases, failures, losses, result)
  select a.job_id, a.lease_id, a.nonce, fencepost.clock(), 'succeeded', 1, 0, 0, 0, a.result
  from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) as a(job_id, lease_id, nonce, result)
  on conflict (job_id) do update set lease_id = excluded.lease_id, nonce = excluded.nonce, result = excluded.result;
  return query
    select a.job_id, a.lease_id, 'finished', 'succeeded'::fencepost.outcome, false
    from unnest(p_job_ids, p_lease_ids) as a(job_id, lease_id);
end $$;
