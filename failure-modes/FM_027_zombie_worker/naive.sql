-- A heartbeat that writes down who is alive: where its lease is gone, it is written anew, with the same fence.
create or replace function fencepost.extend(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[]
) returns table (job_id uuid, lease_id bigint, answer text, cancel_requested boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  update fencepost.leased l
  set expires_at = fencepost.clock() + l.lease_ms * interval '1 ms'
  where l.lease_id = any (p_lease_ids);
  insert into fencepost.leased
    (lease_id, nonce, job_id, seq, claimed_at, expires_at, started_at, lease_ms, tries, releases, priority, failures,
     losses, failures_max, losses_max, queue, task, worker)
  select a.lease_id, a.nonce, j.id, j.seq, t.claimed_at, fencepost.clock() + j.lease_ms * interval '1 ms', t.started_at,
         j.lease_ms, coalesce(f.tries, 1), coalesce(f.releases, 0), j.priority, coalesce(f.failures, 0),
         coalesce(f.losses, 0), j.failures_max, j.losses_max, j.queue, j.task, t.worker
  from unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
  join fencepost.job j on j.id = a.job_id
  join fencepost.attempt t on t.job_id = a.job_id and t.lease_id = a.lease_id and t.nonce = a.nonce
  left join fencepost.finished f on f.job_id = a.job_id
  on conflict (lease_id) do nothing;
  return query
    select a.job_id, a.lease_id, 'extended', false
    from unnest(p_job_ids, p_lease_ids) as a(job_id, lease_id);
end $$;

-- By the fence, but the outcome is one that can be written again.
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[],
  p_own boolean default false, p_quiet boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
    with asked as (
      select * from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) as a(job_id, lease_id, nonce, result)
    ), ended as (
      delete from fencepost.leased l
      using asked a
      where l.lease_id = a.lease_id and l.job_id = a.job_id and l.nonce = a.nonce
      returning l.*, a.result
    ), log as (
      insert into fencepost.attempt as t
        (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.claimed_at, e.started_at, 'succeeded', e.worker
      from ended e
      where e.tries > 1
      on conflict (job_id, lease_id, nonce) do nothing
    ), put as (
      insert into fencepost.finished
        (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, result)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.started_at, 'succeeded', e.tries, e.releases,
             e.failures, e.losses, e.worker, e.result
      from ended e
      on conflict (job_id) do update
        set lease_id = excluded.lease_id, nonce = excluded.nonce, worker = excluded.worker, result = excluded.result
    )
    select a.job_id, a.lease_id, case when e.lease_id is null then 'stale' else 'finished' end,
           'succeeded'::fencepost.outcome, false
    from asked a
    left join ended e on e.lease_id = a.lease_id and e.job_id = a.job_id and e.nonce = a.nonce;
end $$;
