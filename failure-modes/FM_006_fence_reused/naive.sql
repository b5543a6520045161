-- The fence is (job, number of the attempt), and that number starts again with the job.
create or replace function fencepost.claim(
  p_queue text, p_limit integer, p_worker text, p_tasks text[] default null, p_turn bigint default null,
  p_again boolean default false, p_start integer default 0, p_suspects integer default null,
  p_visible_ms integer default null, p_tries_max integer default null, p_told integer default null,
  p_paused boolean default true
) returns setof fencepost.claimed
language plpgsql
as $$
begin
  return query
    with taken as (
      delete from fencepost.ready r
      where r.ctid = any (array(
        select q.ctid from fencepost.ready q where q.queue = p_queue order by q.seq limit p_limit))
      returning r.*
    ), put as (
      insert into fencepost.leased
        (lease_id, nonce, job_id, seq, claimed_at, expires_at, lease_ms, tries, releases, priority, failures, losses,
         failures_max, losses_max, queue, task, worker)
      select t.tries + 1, 0, t.job_id, t.seq, fencepost.clock(), fencepost.clock() + interval '30 s', 30000,
             t.tries + 1, t.releases, t.priority, t.failures, t.losses, t.failures_max, t.losses_max, t.queue, t.task,
             p_worker
      from taken t
      returning *
    )
    select l.job_id, l.lease_id, l.nonce, l.task, j.payload, l.queue, l.priority, l.tries, l.failures, l.losses,
           l.releases, l.failures_max, l.claimed_at, l.expires_at, l.lease_ms, j.created_at, false, j.policy,
           l.seq, null::text, l.claimed_at, null::text, 1
    from put l join fencepost.job j on j.id = l.job_id;
end $$;
