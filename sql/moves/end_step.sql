-- end_step(job_id, lease_id, nonce, name, result, threw) → (answer)
--
-- Records the result of a step, after it was done. By the fence. The first result stands. With `threw` there is no
-- result, but the attempt is over with this step: the next one need not wait for its timeout.
-- Answers: `recorded`; `already` if there is a result; `stale` if the lease is no longer held.
-- Locks: the lease row FOR KEY SHARE, then the step's row.
create or replace function fencepost.end_step(
  p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_name text, p_result jsonb,
  p_threw boolean default false
) returns table (answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  perform fencepost.durable(); -- guard: end_step.durable
  perform 1
  from fencepost.leased l
  where l.lease_id = p_lease_id and l.job_id = p_job_id and l.nonce = p_nonce -- guard: end_step.fence
  for key share;
  if not found then
    return query select 'stale';
    return;
  end if;
  update fencepost.step s
  set done_at = case when not p_threw then fencepost.clock() end, result = p_result,
      over_at = case when p_threw then fencepost.clock() else s.over_at end
  where s.job_id = p_job_id and s.name = p_name and s.done_at is null; -- guard: end_step.once
  return query select case when found then 'recorded' else 'already' end;
end $$;
