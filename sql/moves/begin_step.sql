-- begin_step(job_id, lease_id, nonce, name, timeout_ms, take) → (answer, result, wait_ms)
--
-- Records the intent to do a step, before it is done. By the fence.
-- Answers: `begun`: do it (also when this very lease asks again); `done` with the result recorded before: do not;
--   `ambiguous`: an earlier attempt began it and recorded no result, so its effect may have happened. `wait_ms` tells in
--   how long all earlier attempts must be over. With `take` the intent is now this lease's; `stale`.
-- Locks: the lease row FOR KEY SHARE, so that it cannot end meanwhile and heartbeats go on; then the step's row.
create or replace function fencepost.begin_step(
  p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_name text, p_timeout_ms bigint default null,
  p_take boolean default true
) returns table (answer text, result jsonb, wait_ms bigint)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_step fencepost.step;
begin
  perform fencepost.durable(); -- guard: begin_step.durable
  perform 1
  from fencepost.leased l
  where l.lease_id = p_lease_id and l.job_id = p_job_id and l.nonce = p_nonce -- guard: begin_step.fence
  for key share; -- guard: begin_step.key_share
  if not found then
    return query select 'stale', null::jsonb, 0::bigint;
    return;
  end if;

  insert into fencepost.step as s (job_id, name, lease_id, nonce, begun_at, over_at)
  values (p_job_id, p_name, p_lease_id, p_nonce, fencepost.clock(),
          fencepost.clock() + p_timeout_ms * interval '1 ms')
  on conflict (job_id, name) do nothing; -- guard: begin_step.intent
  if found then
    return query select 'begun', null::jsonb, 0::bigint;
    return;
  end if;

  select * into v_step from fencepost.step s where s.job_id = p_job_id and s.name = p_name for update;
  if v_step.done_at is not null then -- guard: begin_step.done
    return query select 'done', v_step.result, 0::bigint;
  elsif v_step.lease_id = p_lease_id and v_step.nonce = p_nonce then -- guard: begin_step.again
    return query select 'begun', null::jsonb, 0::bigint;
  else
    update fencepost.step s
    set lease_id = p_lease_id, nonce = p_nonce, begun_at = fencepost.clock(),
        over_at = greatest(s.over_at, fencepost.clock() + p_timeout_ms * interval '1 ms') -- guard: begin_step.longest
    where s.job_id = p_job_id and s.name = p_name and p_take; -- guard: begin_step.take
    return query select 'ambiguous', null::jsonb,
      greatest(0, ceil(extract(epoch from v_step.over_at - fencepost.clock()) * 1000))::bigint;
  end if;
end $$;
