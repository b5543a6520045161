-- Select, think, and then put back by id.
create or replace function fencepost.lose(p_limit integer default 1000)
returns table (job_id uuid, lease_id bigint, worker text, answer text, outcome fencepost.outcome)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_expired uuid[];
begin
  select array_agg(l.job_id) into v_expired from fencepost.leased l where l.expires_at <= fencepost.clock();
  perform fencepost.lab_pause();
  delete from fencepost.leased l where l.job_id = any (v_expired);
  delete from fencepost.finished f where f.job_id = any (v_expired);
  insert into fencepost.ready
  select j.id, j.seq, 1, 0, j.priority, 0, 1, j.failures_max, j.losses_max, j.queue, j.task
  from fencepost.job j
  where j.id = any (v_expired);
  return query select j.id, 0::bigint, '', 'lost', null::fencepost.outcome from fencepost.job j where j.id = any (v_expired);
end $$;
