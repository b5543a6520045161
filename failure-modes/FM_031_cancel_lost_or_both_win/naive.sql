-- Cancel as it is often written. A job that runs is told to its worker by a notification, which nobody keeps; any other
-- is marked as cancelled by its id, whatever has become of it.
create or replace function fencepost.cancel(p_job_ids uuid[], p_reason text default null, p_own boolean default false,
  p_running boolean default true)
returns table (job_id uuid, answer text, outcome fencepost.outcome)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job uuid;
begin
  foreach v_job in array p_job_ids loop
    if exists (select 1 from fencepost.leased l where l.job_id = v_job) then
      perform pg_notify('cancel', v_job::text);
      answer := 'requested';
      outcome := null;
    else
      delete from fencepost.ready r where r.job_id = v_job;
      delete from fencepost.delayed d where d.job_id = v_job;
      insert into fencepost.finished as f
        (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
      select j.id, fencepost.clock(), 'cancelled',
             (select count(*) from fencepost.attempt a where a.job_id = j.id), 0, 0,
             (select count(*) from fencepost.attempt a where a.job_id = j.id and a.ending = 'lost'), 'cancelled'
      from fencepost.job j
      where j.id = v_job
      on conflict (job_id) do update set outcome = 'cancelled', reason = 'cancelled';
      answer := 'cancelled';
      outcome := 'cancelled';
    end if;
    job_id := v_job;
    return next;
  end loop;
end $$;

-- And a completion that does not look, either.
create or replace function fencepost.finish(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_results jsonb[],
  p_own boolean default false, p_quiet boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome, duplicate boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  with asked as (
    select * from unnest(p_job_ids, p_lease_ids, p_nonces, p_results) as a(job_id, lease_id, nonce, result)
  ), ended as (
    delete from fencepost.leased l using asked a where l.job_id = a.job_id
    returning l.*, fencepost.clock() as ended_at
  ), log as (
    insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.claimed_at, e.started_at, 'succeeded', e.worker
    from ended e
    where e.tries > 1
  )
  insert into fencepost.finished as f
    (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, result)
  select a.job_id, a.lease_id, a.nonce, fencepost.clock(), e.started_at, 'succeeded', coalesce(e.tries, 1),
         coalesce(e.releases, 0), coalesce(e.failures, 0), coalesce(e.losses, 0), e.worker, a.result
  from asked a
  left join ended e on e.job_id = a.job_id
  on conflict (job_id) do update set outcome = 'succeeded', reason = null, result = excluded.result;
  return query
    select a.job_id, a.lease_id, 'finished', 'succeeded'::fencepost.outcome, false
    from unnest(p_job_ids, p_lease_ids) as a(job_id, lease_id);
end $$;
