-- sqs_sweep(ledger_ms, limit) → how many messages have expired
--
-- Forgets sends whose tries can no longer come again. Move: ready, waiting → finished(expired), for messages that are older than
-- their queue keeps them; never one that is in flight.
-- From any number of servers. Locks: rows, skipping locked ones. Then those of admit().
create or replace function fencepost.sqs_sweep(p_ledger_ms bigint, p_limit integer default 1000) returns integer
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := fencepost.clock();
  v_expired integer;
  v_freed text[];
begin
  perform fencepost.durable();
  delete from fencepost.sqs_sent s
  where s.ctid = any (array(
    select q.ctid from fencepost.sqs_sent q
    where q.sent_at < v_now - greatest(p_ledger_ms, 300000) * interval '1 ms' -- guard: sqs_sweep.ledger
    limit 10 * p_limit
    for update skip locked)); -- guard: sqs_sweep.ledger_skip_locked
  delete from fencepost.sqs_dedup d
  where d.ctid = any (array(
    select q.ctid from fencepost.sqs_dedup q where q.sent_at < v_now - interval '5 minutes' limit 10 * p_limit
    for update skip locked)); -- guard: sqs_sweep.dedup_skip_locked

  with due as materialized (
    select q.name, v_now - (q.settings ->> 'messageRetentionPeriod')::integer * interval '1 second' as before
    from fencepost.sqs_queue q
  ), lane as materialized (
    -- Each rank of each queue, its first messages: they are the oldest.
    with recursive ranks as (
      select d.name, d.before, (select r.priority from fencepost.ready r where r.queue = d.name order by r.priority limit 1) as rank
      from due d
      union all
      select k.name, k.before, (
        select r.priority from fencepost.ready r where r.queue = k.name and r.priority > k.rank order by r.priority limit 1)
      from ranks k
      where k.rank is not null
    )
    select k.*
    from ranks k
    cross join lateral (
      select f.job_id from fencepost.ready f where f.queue = k.name and f.priority = k.rank order by f.seq limit 1
    ) f
    cross join lateral (select j.created_at from fencepost.job j where j.id = f.job_id offset 0) j
    where k.rank is not null and j.created_at < k.before
  ), line as materialized (
    -- Each group that waits, its first message: whatever else waits is younger.
    with recursive groups as (
      select d.name, d.before, (
        select f.gate from fencepost.waiting f
        where f.gate >= 'fifo:sqs/' || d.name || '/' and f.gate < 'fifo:sqs/' || d.name || '0' order by f.gate limit 1) as gate
      from due d
      where d.name like '%.fifo'
      union all
      select k.name, k.before, (
        select f.gate from fencepost.waiting f
        where f.gate > k.gate and f.gate < 'fifo:sqs/' || k.name || '0' order by f.gate limit 1)
      from groups k
      where k.gate is not null
    )
    select k.*
    from groups k
    cross join lateral (select f.job_id from fencepost.waiting f where f.gate = k.gate order by f.rank, f.seq limit 1) f
    cross join lateral (select j.created_at from fencepost.job j where j.id = f.job_id offset 0) j
    where k.gate is not null and j.created_at < k.before
  ), ready as (
    delete from fencepost.ready r
    where r.ctid = any (array(
      select g.ctid from fencepost.ready g where g.ctid = any (array(
      select q.ctid
      from lane l
      cross join lateral (
        select f.ctid, f.job_id from fencepost.ready f where f.queue = l.name and f.priority = l.rank order by f.seq limit p_limit
      ) q
      cross join lateral (select j.created_at from fencepost.job j where j.id = q.job_id offset 0) j
      where j.created_at < l.before)) -- guard: sqs_sweep.retention
      for update skip locked)) -- guard: sqs_sweep.skip_locked
    returning r.job_id, r.tries, r.releases, r.failures, r.losses, r.gates, r.held
  ), waiting as (
    delete from fencepost.waiting w
    where w.ctid = any (array(
      select g.ctid from fencepost.waiting g where g.ctid = any (array(
      select q.ctid
      from line l
      cross join lateral (
        select f.ctid, f.job_id from fencepost.waiting f where f.gate = l.gate order by f.rank, f.seq limit p_limit
      ) q
      cross join lateral (select j.created_at from fencepost.job j where j.id = q.job_id offset 0) j
      where j.created_at < l.before
      limit p_limit))
      for update skip locked)) -- guard: sqs_sweep.waiting_skip_locked
    returning w.job_id, w.tries, w.releases, w.failures, w.losses, w.gates, w.held
  ), gone as (
    select * from ready union all select * from waiting
  ), put as (
    insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
    select g.job_id, v_now, 'expired', g.tries, g.releases, g.failures, g.losses, 'retention_period' from gone g
  )
  select count(*), (select array_agg(k) from gone f cross join lateral unnest(f.gates[1 : f.held]) as k where f.gates is not null)
  into v_expired, v_freed
  from gone g;
  if v_freed is not null then
    perform fencepost.admit(fencepost.hand_over(v_freed, true), true, false);
  end if;
  return v_expired;
end $$;
