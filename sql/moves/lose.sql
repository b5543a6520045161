-- lose(limit, queue) → (job_id, lease_id, worker, answer, outcome)
--
-- Move, for leases that have run out by the database's clock: leased → place(), or → finished(failed) when the losses
-- are used up, or → finished(cancelled) when a cancel was requested. Adds one to `losses` if the handler had started,
-- otherwise to `releases`. Safe from any number of processes at any time.
-- Answers: `lost`, `released` (it had not started), `failed`, `cancelled`.
-- A job that goes on keeps its gates, unless it has overrun one, or had a lease without a heartbeat: then others may hold
-- the same strict gate, and it waits for them.
-- `queue`: only leases without a heartbeat, of that queue; there is an index for them.
-- Locks: lease rows, skipping locked ones: a lease whose settle or heartbeat is in flight is not lost. Then those of
--   admit().
create or replace function fencepost.lose(p_limit integer default 1000, p_queue text default null)
returns table (job_id uuid, lease_id bigint, worker text, answer text, outcome fencepost.outcome)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := fencepost.clock();
  v_first bigint;
  v_jobs uuid[];
  v_leases bigint[];
  v_workers text[];
  v_answers text[];
  v_outcomes fencepost.outcome[];
  v_ready fencepost.ready[];
  v_freed text[];
  v_calls fencepost.nudge[];
begin
  perform fencepost.durable(); -- guard: lose.durable
  if p_queue is null then
    v_first := fencepost.first_lease();
  end if;
  with ended as (
    delete from fencepost.leased l
    where l.ctid = any (case when p_queue is null then array(
      select q.ctid
      from fencepost.leased q
      where q.expires_at <= v_now -- guard: lose.expired
        and q.lease_id >= v_first
      order by q.lease_id
      limit p_limit
      for update -- guard: lose.recheck
      skip locked) -- guard: lose.skip_locked
    else array(
      select q.ctid
      from fencepost.leased q
      where q.queue = p_queue and q.visible_at <= v_now -- guard: lose.visible
      order by q.visible_at
      limit p_limit
      for update skip locked) end) -- guard: lose.visible_skip_locked
    returning l.*, l.started_at is not null as started -- guard: lose.started
  ), judged as (
    select o.*, case when o.outcome is not null then 0
                     when o.visible_at is not null then 0 -- guard: lose.group
                     when o.overrun is not null then fencepost.fifo_held(o.gates, o.held)
                     else o.held end::smallint as kept -- guard: lose.slots
    from (
    select e.*,
           (e.losses + e.started::int)::smallint as losses_now,
           e.releases + (not e.started)::int as releases_now,
           case when e.cancel_requested_at is not null then 'cancelled' -- guard: lose.cancel
                when e.started and e.losses + 1 > e.losses_max then 'failed' -- guard: lose.budget
           end::fencepost.outcome as outcome,
           case when e.cancel_requested_at is not null then coalesce(e.cancel_reason, 'cancel_requested')
                when e.started and e.losses + 1 > e.losses_max then 'losses_exhausted'
           end as reason
    from ended e) o
  ), put_finished as (
    insert into fencepost.finished
      (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason)
    select e.job_id, e.lease_id, e.nonce, v_now, e.started_at, e.outcome, e.tries, e.releases_now, e.failures,
           e.losses_now, e.worker, e.reason
    from judged e
    where e.outcome is not null
  ), log as (
    insert into fencepost.attempt
      (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
    select e.job_id, e.lease_id, e.nonce, v_now, e.claimed_at, e.started_at,
           case when e.started then 'lost' else 'released' end, e.worker,
           case when e.started then 'lease_ran_out' else 'lease_ran_out_before_start' end
    from judged e
  )
  select array_agg(e.job_id), array_agg(e.lease_id), array_agg(e.worker),
         array_agg(coalesce(e.outcome::text, case when e.started then 'lost' else 'released' end)),
         array_agg(e.outcome),
         array_agg(row(e.job_id, e.seq, e.tries, e.releases_now, e.priority, e.failures, e.losses_now,
                       e.failures_max, e.losses_max, e.queue, e.task, e.gates, e.kept, e.local_limit, false)
                   ::fencepost.ready)
           filter (where e.outcome is null),
         (select array_agg(k)
          from judged g cross join lateral unnest(fencepost.given_back(g.gates, g.held, g.kept, g.overrun)) as k
          where g.gates is not null)
  into v_jobs, v_leases, v_workers, v_answers, v_outcomes, v_ready, v_freed
  from judged e;

  if v_ready is not null then
    v_calls := fencepost.place(v_ready);
  end if;
  if v_freed is not null or v_calls is not null then
    perform fencepost.admit(v_calls || fencepost.hand_over(v_freed, true), true);
  end if;
  return query select * from unnest(v_jobs, v_leases, v_workers, v_answers, v_outcomes);
end $$;

-- first_lease() → the number of the first lease that lives
--
-- Ended leases lie before it, and stay there for as long as some old snapshot keeps them. A session begins to look where it found the
-- first one the last time. Numbers are given out before they are committed: one that was under way then may lie before that, so every
-- five seconds a session looks from the beginning; more rarely if that takes more than a twentieth of its time, but once a minute.
-- It is a setting of the session, one for each schema, and what it hides is hidden for no longer than that.
-- Locks: none.
create or replace function fencepost.first_lease() returns bigint
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := fencepost.clock();
  v_setting text := 'fencepost_lose.first_' || 'fencepost.leased'::regclass::oid;
  v_mark jsonb := nullif(current_setting(v_setting, true), '');
  v_first bigint;
begin
  if (v_mark ->> 'until')::double precision - extract(epoch from v_now) between 0 and 60 then -- guard: lose.from_the_beginning
    v_first := (v_mark ->> 'first')::bigint; -- guard: lose.marked
  else
    v_mark := null;
  end if;
  -- If none lives, what is given out from now on comes behind the last number.
  v_first := coalesce(
    (select l.lease_id from fencepost.leased l where l.lease_id >= coalesce(v_first, -9223372036854775808) order by l.lease_id limit 1),
    pg_sequence_last_value('fencepost.lease_seq'::regclass), -- as nextval(), it needs no more than USAGE
    -9223372036854775808);
  perform set_config(v_setting, jsonb_build_object('first', v_first, 'until', coalesce(
    (v_mark ->> 'until')::double precision,
    extract(epoch from v_now + greatest(interval '5 s', least(20 * (fencepost.clock() - v_now), interval '60 s')))))::text, false);
  return v_first;
end $$;
