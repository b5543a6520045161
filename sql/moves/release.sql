-- release(job_ids, lease_ids, nonces, reason, own) → (job_id, lease_id, answer, outcome)
--
-- Move: leased → place(), by the worker's own decision (shutdown, no room, drained), with its seq, at no charge: adds
-- one to `releases`, which has no budget. It keeps its gates, unless it has overrun one, or
-- had a lease without a heartbeat (see lose). → finished(cancelled) when a cancel was requested.
-- Answers: `released`, `cancelled`; `already` if this very lease was released before; `stale` if it is no longer held.
-- `own`: this statement is all of its transaction, and may hand slots over and admit others through their gates.
-- Locks: lease rows in order of lease_id; a first try still in flight is waited for. Then those of admit().
create or replace function fencepost.release(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_reason text, p_own boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off -- guard: release.in_order (it locks in the order of the heap)
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_leases bigint[];
  v_nonces bigint[];
  v_outcomes fencepost.outcome[];
  v_ready fencepost.ready[];
  v_ask record;
  v_freed text[];
  v_calls fencepost.nudge[];
  v_loops text := current_setting('enable_nestloop');
  v_no_loops text;
begin
  perform fencepost.durable(); -- guard: release.durable
  -- Planned while the table was large and had been emptied, the join would be a nested loop, and go through all keys for each
  -- lease. Only here: what this calls is to be planned as always.
  v_no_loops := set_config('enable_nestloop', 'off', true); -- guard: release.no_loop
  with asked as (
    select * from unnest(p_job_ids, p_lease_ids, p_nonces) as a(job_id, lease_id, nonce)
    order by a.lease_id -- guard: release.lock_order
  ), ended as (
    delete from fencepost.leased l
    using asked a -- guard: release.fence
    where l.lease_id = a.lease_id -- guard: release.fence_lease
      and l.job_id = a.job_id -- guard: release.fence_job
      and l.nonce = a.nonce -- guard: release.fence_nonce
      and l.lease_id = any (p_lease_ids) -- guard: release.by_key (planned while there were few leases, a join read all of them, and all dead ones)
    returning l.*, l.releases + 1 as releases_now, fencepost.clock() as ended_at,
              case when l.cancel_requested_at is not null then 'cancelled' -- guard: release.cancel
              end::fencepost.outcome as outcome,
              case when l.cancel_requested_at is not null then 0
                   when l.visible_at is not null then 0 -- guard: release.group
                   when l.overrun is not null then fencepost.fifo_held(l.gates, l.held)
                   else l.held end::smallint as kept -- guard: release.slots
  ), put_finished as (
    insert into fencepost.finished
      (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.started_at, e.outcome, e.tries, e.releases_now, e.failures,
           e.losses, e.worker, coalesce(e.cancel_reason, 'cancel_requested')
    from ended e
    where e.outcome is not null
  ), log as (
    insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.claimed_at, e.started_at, 'released', e.worker, p_reason
    from ended e
  )
  select array_agg(e.job_id), array_agg(e.lease_id), array_agg(e.nonce), array_agg(e.outcome),
         array_agg(row(e.job_id, e.seq, -- guard: release.seq
                       e.tries, e.releases_now, e.priority, e.failures, e.losses, e.failures_max,
                       e.losses_max, e.queue, e.task, e.gates, e.kept, e.local_limit, false)::fencepost.ready)
           filter (where e.outcome is null),
         (select array_agg(k)
          from ended g cross join lateral unnest(fencepost.given_back(g.gates, g.held, g.kept, g.overrun)) as k
          where g.gates is not null)
  into v_jobs, v_leases, v_nonces, v_outcomes, v_ready, v_freed
  from ended e;
  v_loops := set_config('enable_nestloop', v_loops, true); -- guard: release.loops_again

  if v_ready is not null then
    v_calls := fencepost.place(v_ready);
  end if;

  -- A new statement: what ended the other leases may have been committed after the first one's snapshot.
  for v_ask in
    select a.*, e.lease_id is not null as ended, coalesce(e.outcome, f.outcome) as outcome,
           t.ending is not distinct from 'released' as same
    from unnest(p_job_ids, p_lease_ids, p_nonces) with ordinality as a(job_id, lease_id, nonce, n)
    left join unnest(v_jobs, v_leases, v_nonces, v_outcomes) as e(job_id, lease_id, nonce, outcome)
      on e.job_id = a.job_id and e.lease_id = a.lease_id
      and e.nonce = a.nonce -- guard: release.answer_nonce
    left join fencepost.finished f on f.job_id = a.job_id
    left join fencepost.attempt t -- guard: release.new_statement
      on t.job_id = a.job_id and t.lease_id = a.lease_id and t.nonce = a.nonce
    order by a.job_id, a.lease_id, a.nonce, a.n
  loop
    job_id := v_ask.job_id;
    lease_id := v_ask.lease_id;
    outcome := v_ask.outcome;
    if v_ask.ended then
      answer := coalesce(v_ask.outcome::text, 'released');
    elsif v_ask.same then -- guard: release.already
      answer := 'already';
    else
      perform fencepost.record_late( -- guard: release.late
        v_ask.job_id, v_ask.lease_id, v_ask.nonce, 'released', null);
      answer := 'stale';
    end if;
    return next;
  end loop;
  if v_freed is not null or v_calls is not null then -- after everything that can wait
    perform fencepost.admit(v_calls || fencepost.hand_over(v_freed, p_own), p_own, false);
  end if;
end $$;
