-- sqs_create(name, settings, tags) → (made, id, settings): a queue that is there already is not touched, and told
create or replace function fencepost.sqs_create(p_name text, p_settings jsonb, p_tags jsonb)
returns table (made boolean, id bigint, settings jsonb)
language plpgsql
as $$
#variable_conflict use_column
begin
  perform fencepost.durable(); -- guard: sqs_queue.create_durable
  perform pg_advisory_xact_lock_shared(hashtext('fencepost.sqs'), hashtext(p_name)); -- guard: sqs_queue.create_shared
  insert into fencepost.sqs_queue (name, created_at, modified_at, settings, tags)
  values (p_name, fencepost.clock(), fencepost.clock(), p_settings, p_tags)
  on conflict (name) do nothing -- guard: sqs_queue.create_once
  returning id, settings into id, settings;
  made := found;
  if not made then
    select q.id, q.settings into id, settings from fencepost.sqs_queue q where q.name = p_name;
  end if;
  return next;
end $$;

-- sqs_set(name, before, after) → `set`; `changed` if the settings are no longer what they were; `no_queue`
--
-- The delay of a FIFO queue also holds for the messages that wait for it: otherwise a new one would overtake them.
create or replace function fencepost.sqs_set(p_name text, p_before jsonb, p_after jsonb) returns text
language plpgsql
as $$
begin
  perform fencepost.durable(); -- guard: sqs_queue.set_durable
  if p_name like '%.fifo' and p_after -> 'delaySeconds' <> p_before -> 'delaySeconds' then
    -- Waits for sends in flight, which have read the old delay.
    perform pg_advisory_xact_lock(hashtext('fencepost.sqs'), hashtext(p_name)); -- guard: sqs_queue.set_sends
  end if;
  update fencepost.sqs_queue q
  set settings = p_after, modified_at = fencepost.clock()
  where q.name = p_name and q.settings in (p_before, p_after); -- guard: sqs_queue.set_before (a repeat finds what it has set)
  if not found then
    return case when exists (select 1 from fencepost.sqs_queue q where q.name = p_name) then 'changed' else 'no_queue' end;
  end if;
  if p_name like '%.fifo' and p_after -> 'delaySeconds' <> p_before -> 'delaySeconds' then
    update fencepost.delayed d
    set due_at = j.created_at + (p_after ->> 'delaySeconds')::integer * interval '1 second' -- guard: sqs_queue.fifo_delay
    from fencepost.job j
    where d.queue = p_name and d.tries = 0 and j.id = d.job_id;
  end if;
  perform pg_notify('fencepost.ready', p_name) where exists (select 1 from fencepost.sleeper s where s.queue = p_name);
  return 'set';
end $$;

-- sqs_purge(name, every_ms) → `purged`, `no_queue`, or `too_soon` after another purge
create or replace function fencepost.sqs_purge(p_name text, p_every_ms integer) returns text
language plpgsql
as $$
begin
  perform fencepost.durable(); -- guard: sqs_queue.purge_durable
  update fencepost.sqs_queue q set purged_at = fencepost.clock()
  where q.name = p_name
    and (q.purged_at is null or q.purged_at <= fencepost.clock() - p_every_ms * interval '1 ms'); -- guard: sqs_queue.purge_every
  if not found then
    return case when exists (select 1 from fencepost.sqs_queue q where q.name = p_name) then 'too_soon' else 'no_queue' end;
  end if;
  perform fencepost.sqs_clear(p_name, 'purged');
  return 'purged';
end $$;

-- sqs_delete_queue(name) → whether there was one. Waits for sends in flight: what comes later finds no queue.
create or replace function fencepost.sqs_delete_queue(p_name text) returns boolean
language plpgsql
as $$
declare
  v_id bigint;
begin
  perform fencepost.durable(); -- guard: sqs_queue.delete_durable
  perform pg_advisory_xact_lock(hashtext('fencepost.sqs'), hashtext(p_name)); -- guard: sqs_queue.delete_sends
  delete from fencepost.sqs_queue q where q.name = p_name returning q.id into v_id;
  if not found then
    return false;
  end if;
  perform fencepost.sqs_clear(p_name, 'queue_deleted');
  delete from fencepost.sqs_dedup d where d.queue_id = v_id;
  perform pg_notify('fencepost.ready', p_name) where exists (select 1 from fencepost.sleeper s where s.queue = p_name);
  return true;
end $$;

-- sqs_clear(queue, reason)
--
-- Move: ready, delayed, waiting, leased by a client of SQS → finished(discarded). A job that a worker runs goes on.
-- Locks: place rows. Then those of admit().
create or replace function fencepost.sqs_clear(p_queue text, p_reason text) returns void
language plpgsql
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_freed text[];
  v_until bigint := (select s.last_value from fencepost.job_seq s); -- what comes later was not there when it began
begin
  -- What moves from place to place meanwhile can be missed in both: once more, until one snapshot shows nothing.
  for v_round in 1 .. 100 loop -- guard: sqs_queue.clear_again
    with ready as (
      delete from fencepost.ready r where r.queue = p_queue and r.seq <= v_until
      returning r.job_id, r.tries, r.releases, r.failures, r.losses, r.gates, r.held
    ), delayed as (
      delete from fencepost.delayed d where d.queue = p_queue and d.seq <= v_until
      returning d.job_id, d.tries, d.releases, d.failures, d.losses, d.gates, d.held
    ), waiting as (
      delete from fencepost.waiting w where w.queue = p_queue and w.seq <= v_until
      returning w.job_id, w.tries, w.releases, w.failures, w.losses, w.gates, w.held
    ), gone as (
      select * from ready union all select * from delayed union all select * from waiting
    ), put as (
      insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
      select g.job_id, fencepost.clock(), 'discarded', g.tries, g.releases, g.failures, g.losses, p_reason
      from gone g
    )
    select v_freed || array_agg(k) into v_freed
    from gone g cross join lateral unnest(g.gates[1 : g.held]) as k
    where g.gates is not null;

    -- A new statement: what was received while the first one waited is in flight now.
    perform 1 from fencepost.leased l where l.queue = p_queue and l.visible_at is not null and l.seq <= v_until
    order by l.lease_id -- guard: sqs_queue.clear_order
    for update;
    with gone as (
      delete from fencepost.leased l
      where l.queue = p_queue and l.visible_at is not null -- guard: sqs_queue.clear_in_flight
        and l.seq <= v_until -- guard: sqs_queue.clear_until
      returning l.*
    ), logged as (
      insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
      select g.job_id, g.lease_id, g.nonce, fencepost.clock(), g.claimed_at, g.started_at, 'cancelled', g.worker, p_reason
      from gone g
    ), put as (
      insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
      select g.job_id, fencepost.clock(), 'discarded', g.tries, g.releases, g.failures, g.losses, p_reason
      from gone g
    )
    select v_freed || array_agg(k) into v_freed -- guard: sqs_queue.clear_slots
    from gone g cross join lateral unnest(g.gates[1 : g.held]) as k
    where g.gates is not null;
    exit when not exists (
      select 1 from fencepost.ready r where r.queue = p_queue and r.seq <= v_until
      union all
      select 1 from fencepost.delayed d where d.queue = p_queue and d.seq <= v_until
      union all
      select 1 from fencepost.waiting w where w.queue = p_queue and w.seq <= v_until
      union all
      select 1 from fencepost.leased l where l.queue = p_queue and l.visible_at is not null and l.seq <= v_until);
  end loop;
  if v_freed is not null then
    perform fencepost.admit(fencepost.hand_over(v_freed, true), true, false);
  end if;
end $$;
