-- Select, think, and then put back by id, whatever has become of the jobs meanwhile.
create or replace function fencepost.lose(p_limit integer default 1000, p_queue text default null)
returns table (job_id uuid, lease_id bigint, worker text, answer text, outcome fencepost.outcome)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_expired fencepost.leased[];
begin
  select array_agg(l) into v_expired from fencepost.leased l where l.expires_at <= fencepost.clock();
  perform fencepost.lab_pause();
  delete from fencepost.leased l using unnest(v_expired) e where l.job_id = e.job_id;
  delete from fencepost.finished f using unnest(v_expired) e where f.job_id = e.job_id;
  insert into fencepost.ready
  select e.job_id, e.seq, e.tries, e.releases, e.priority, e.failures, e.losses + 1, e.failures_max, e.losses_max,
         e.queue, e.task
  from unnest(v_expired) e;
  insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker)
  select e.job_id, e.lease_id, e.nonce, fencepost.clock(), e.claimed_at, e.started_at, 'lost', e.worker
  from unnest(v_expired) e;
  return query select e.job_id, e.lease_id, e.worker, 'lost', null::fencepost.outcome from unnest(v_expired) e;
end $$;
