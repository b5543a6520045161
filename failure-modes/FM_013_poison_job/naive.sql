-- The rescuer puts back what dead workers held, and counts nothing: attempts are counted by those who live to report.
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
      returning l.*
    ), put_ready as (
      insert into fencepost.ready
      select e.job_id, e.seq, e.tries, e.releases, e.priority, e.failures, e.losses, e.failures_max, e.losses_max,
             e.queue, e.task
      from ended e
    ), log as (
      insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
      select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.claimed_at, e.started_at, 'lost', e.worker,
             'lease_ran_out'
      from ended e
    )
    select e.job_id, e.lease_id, e.worker, 'lost', null::fencepost.outcome
    from ended e;
end $$;
