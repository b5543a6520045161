-- park(job_id, lease_id, nonce, name, wait_ms) → (answer, payload, due_at)
--
-- Move: leased → parked, to wait for the signal `name`, for `wait_ms` to pass (null: no limit), or for whichever comes
-- first. By the fence; no counter moves. → finished(cancelled) when a cancel was requested.
-- The time is kept in the mailbox: parking again under the same name, after a crash or a wake, goes on waiting for the
-- first due time.
-- Answers: `signalled` with its payload, or `elapsed`: there is nothing to wait for and the lease goes on; `parked`;
--   `cancelled`; `already` if this very lease was parked before; `stale` if it is no longer held.
-- Its gates are given back, but for a strict one.
-- Locks: the lease row, so that the lease cannot end while this waits; then the mailbox row. wake locks the mailbox row,
--   too: neither can miss the other.
create or replace function fencepost.park(
  p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_name text, p_wait_ms bigint default null
) returns table (answer text, payload jsonb, due_at timestamptz)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_mail fencepost.signal;
  v_lease fencepost.leased;
  v_now timestamptz;
  v_kept smallint;
begin
  perform fencepost.durable(); -- guard: park.durable
  select l.* into v_lease
  from fencepost.leased l -- guard: park.fence
  where l.lease_id = p_lease_id -- guard: park.fence_lease
    and l.job_id = p_job_id -- guard: park.fence_job
    and l.nonce = p_nonce -- guard: park.fence_nonce
  for update; -- guard: park.lease_first
  if not found then
    return query select * from fencepost.park_refused(p_job_id, p_lease_id, p_nonce, p_name);
    return;
  end if;

  insert into fencepost.signal as s (job_id, name, due_at)
  values (p_job_id, p_name, fencepost.clock() + p_wait_ms * interval '1 ms')
  on conflict (job_id, name) do update -- guard: park.mailbox
    set due_at = coalesce(s.due_at, excluded.due_at) -- guard: park.due
  returning s.* into v_mail;

  v_now := fencepost.clock();
  if v_mail.sent_at is not null then
    return query select 'signalled', v_mail.payload, v_mail.due_at;
    return;
  elsif v_mail.due_at <= v_now then
    return query select 'elapsed', null::jsonb, v_mail.due_at;
    return;
  end if;

  delete from fencepost.leased l where l.lease_id = v_lease.lease_id;
  insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, started_at, ending, worker, reason)
  values (p_job_id, p_lease_id, p_nonce, v_now, v_lease.claimed_at, v_lease.started_at, 'parked', v_lease.worker,
          p_name);
  if v_lease.cancel_requested_at is not null then -- guard: park.cancel
    insert into fencepost.finished
      (job_id, lease_id, nonce, finished_at, started_at, outcome, tries, releases, failures, losses, worker, reason)
    values (p_job_id, p_lease_id, p_nonce, v_now, v_lease.started_at, 'cancelled', v_lease.tries, v_lease.releases,
            v_lease.failures, v_lease.losses, v_lease.worker,
            coalesce(v_lease.cancel_reason, 'cancel_requested'));
    perform fencepost.give_back(v_lease.gates, v_lease.held, 0::smallint, v_lease.overrun, true);
    return query select 'cancelled', null::jsonb, null::timestamptz;
    return;
  end if;
  v_kept := fencepost.fifo_held(v_lease.gates, v_lease.held);
  insert into fencepost.parked
    (job_id, due_at, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task,
     wait_name, gates, held, local_limit)
  values (p_job_id, v_mail.due_at, v_lease.seq, v_lease.tries, v_lease.releases, v_lease.priority, v_lease.failures,
          v_lease.losses, v_lease.failures_max, v_lease.losses_max, v_lease.queue, v_lease.task, p_name, v_lease.gates,
          v_kept, v_lease.local_limit);
  perform fencepost.give_back(v_lease.gates, v_lease.held, v_kept, v_lease.overrun, true); -- guard: park.slots
  return query select 'parked', null::jsonb, v_mail.due_at;
end $$;

-- What park answers for a lease that is not held: `already` if it is this lease that was parked.
create or replace function fencepost.park_refused(
  p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_name text
) returns table (answer text, payload jsonb, due_at timestamptz)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  if exists (
    select 1 from fencepost.attempt t
    where t.job_id = p_job_id and t.lease_id = p_lease_id and t.nonce = p_nonce and t.ending = 'parked'
  ) then -- guard: park.already
    return query select 'already', null::jsonb, null::timestamptz;
  else
    perform fencepost.record_late(p_job_id, p_lease_id, p_nonce, 'parked', to_jsonb(p_name)); -- guard: park.late
    return query select 'stale', null::jsonb, null::timestamptz;
  end if;
end $$;
