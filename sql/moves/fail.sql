-- fail(job_ids, lease_ids, nonces, errors, delays_ms, finals, own) → (job_id, lease_id, answer, outcome)
--
-- Move: leased → delayed (place() for a delay of 0), or → finished(failed) when the failures are used up or the error
-- is `final`, or → finished(cancelled) when a cancel was requested. By the fence; adds one to `failures`.
-- Answers: `retrying`, `failed`, `cancelled`; `already` if this very lease failed before; `stale` if the lease is no
--   longer held (what was said is kept in `attempt`; `outcome` tells how the job ended, if it has).
-- A job that is delayed gives its gates back, but keeps a strict one; one that is placed at once keeps them all, unless
-- it has overrun one.
-- `own`: this statement is all of its transaction, and may hand slots over and admit others through their gates.
-- Locks: lease rows in order of lease_id; a first try still in flight is waited for. Then those of admit().
create or replace function fencepost.fail(
  p_job_ids uuid[], p_lease_ids bigint[], p_nonces bigint[], p_errors jsonb[], p_delays_ms bigint[],
  p_finals boolean[], p_own boolean default false
) returns table (job_id uuid, lease_id bigint, answer text, outcome fencepost.outcome)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off -- guard: fail.in_order (it locks in the order of the heap)
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
  perform fencepost.durable(); -- guard: fail.durable
  -- Planned while the table was large and had been emptied, the join would be a nested loop, and go through all keys for each
  -- lease. Only here: what this calls is to be planned as always.
  v_no_loops := set_config('enable_nestloop', 'off', true); -- guard: fail.no_loop
  with asked as (
    select * from unnest(p_job_ids, p_lease_ids, p_nonces, p_errors, p_delays_ms, p_finals)
      as a(job_id, lease_id, nonce, error, delay_ms, final)
    order by a.lease_id -- guard: fail.lock_order
  ), ended as (
    delete from fencepost.leased l
    using asked a -- guard: fail.fence
    where l.lease_id = a.lease_id -- guard: fail.fence_lease
      and l.job_id = a.job_id -- guard: fail.fence_job
      and l.nonce = a.nonce -- guard: fail.fence_nonce
      and l.lease_id = any (p_lease_ids) -- guard: fail.by_key (planned while there were few leases, a join read all of them, and all dead ones)
    returning l.*, a.error, a.final,
              coalesce(a.delay_ms, 0) as delay_ms, -- guard: fail.no_delay
              fencepost.clock() as ended_at -- guard: fail.clock
  ), judged as (
    select o.*, case when o.outcome is not null then 0
                     when o.delay_ms > 0 or o.overrun is not null then fencepost.fifo_held(o.gates, o.held)
                     else o.held end::smallint as kept -- guard: fail.slots
    from (
    select e.*, (e.failures + 1)::smallint as failures_now,
           case when e.cancel_requested_at is not null then 'cancelled' -- guard: fail.cancel
                when e.final or e.failures + 1 > e.failures_max then 'failed' -- guard: fail.budget
           end::fencepost.outcome as outcome,
           case when e.cancel_requested_at is not null then coalesce(e.cancel_reason, 'cancel_requested')
                when e.final then 'not_retryable'
                when e.failures + 1 > e.failures_max then 'failures_exhausted'
           end as reason
    from ended e) o
  ), put_finished as (
    insert into fencepost.finished
      (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason,
       error)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, coalesce(e.started_at, e.claimed_at), e.outcome, e.tries, e.releases, e.failures_now,
           e.losses, e.worker, e.reason, e.error
    from judged e
    where e.outcome is not null
  ), put_delayed as (
    insert into fencepost.delayed
      (job_id, due_at, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task, gates,
       held, local_limit)
    select e.job_id, e.ended_at + e.delay_ms * interval '1 ms', e.seq, e.tries, e.releases, e.priority,
           e.failures_now, e.losses, e.failures_max, e.losses_max, e.queue, e.task, e.gates, e.kept, e.local_limit
    from judged e
    where e.outcome is null and e.delay_ms > 0
  ), log as (
    insert into fencepost.attempt
      (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason, error)
    select e.job_id, e.lease_id, e.nonce, e.ended_at, e.claimed_at, coalesce(e.started_at, e.claimed_at), 'failed', e.worker, e.reason, e.error
    from judged e
  )
  select array_agg(e.job_id), array_agg(e.lease_id), array_agg(e.nonce), array_agg(e.outcome),
         array_agg(row(e.job_id, e.seq, e.tries, e.releases, e.priority, e.failures_now, e.losses, e.failures_max,
                       e.losses_max, e.queue, e.task, e.gates, e.kept, e.local_limit, false)::fencepost.ready)
           filter (where e.outcome is null and e.delay_ms <= 0),
         (select array_agg(k)
          from judged g cross join lateral unnest(fencepost.given_back(g.gates, g.held, g.kept, g.overrun)) as k
          where g.gates is not null)
  into v_jobs, v_leases, v_nonces, v_outcomes, v_ready, v_freed
  from judged e;
  v_loops := set_config('enable_nestloop', v_loops, true); -- guard: fail.loops_again

  if v_ready is not null then
    v_calls := fencepost.place(v_ready);
  end if;

  -- A new statement: what ended the other leases may have been committed after the first one's snapshot.
  for v_ask in
    select a.*, e.lease_id is not null as ended, coalesce(e.outcome, f.outcome) as outcome,
           t.ending is not distinct from 'failed' as same
    from unnest(p_job_ids, p_lease_ids, p_nonces, p_errors) with ordinality as a(job_id, lease_id, nonce, error, n)
    left join unnest(v_jobs, v_leases, v_nonces, v_outcomes) as e(job_id, lease_id, nonce, outcome)
      on e.job_id = a.job_id and e.lease_id = a.lease_id
      and e.nonce = a.nonce -- guard: fail.answer_nonce
    left join fencepost.finished f on f.job_id = a.job_id
    left join fencepost.attempt t -- guard: fail.new_statement
      on t.job_id = a.job_id and t.lease_id = a.lease_id and t.nonce = a.nonce
    order by a.job_id, a.lease_id, a.nonce, a.n
  loop
    job_id := v_ask.job_id;
    lease_id := v_ask.lease_id;
    outcome := v_ask.outcome;
    if v_ask.ended then
      answer := coalesce(v_ask.outcome::text, 'retrying');
    elsif v_ask.same then -- guard: fail.already
      answer := 'already';
    else
      perform fencepost.record_late( -- guard: fail.late
        v_ask.job_id, v_ask.lease_id, v_ask.nonce, 'failed', v_ask.error);
      answer := 'stale';
    end if;
    return next;
  end loop;
  if v_freed is not null or v_calls is not null then -- after everything that can wait
    perform fencepost.admit(v_calls || fencepost.hand_over(v_freed, p_own), p_own, false);
  end if;
end $$;
