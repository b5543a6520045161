-- enqueue_one(id, payload, task, queue, priority, failures_max, losses_max, lease_ms) → answer
--
-- Move: ∅ → ready, for one job without a delay and without gates: what nearly every call brings. By two plain inserts: to
-- start the executor for all the parts of enqueue_many takes three times as long as its one job.
-- Answers: those of enqueue_many, which is asked if the id is there already: `existing`, or FP001.
-- Locks: the id in the primary key of `job`; one that another transaction is just inserting is waited for (above READ
--   COMMITTED: 40001 if it commits).
-- It sets nothing, unlike other moves: values to be inserted have one plan, and setting them would be a seventh of the work.
create or replace function fencepost.enqueue_one(
  p_id uuid, p_payload jsonb, p_task text, p_queue text, p_priority smallint, p_failures_max smallint,
  p_losses_max smallint, p_lease_ms integer
) returns text
language plpgsql
as $$
declare
  v_seq bigint;
begin
  if current_setting('synchronous_commit') = 'off' then -- guard: enqueue_one.durable
    perform fencepost.durable();
  end if;
  if not fencepost.may_be_job(p_task, p_queue, p_failures_max, p_losses_max, p_lease_ms) then -- guard: enqueue_one.may_be_job
    perform fencepost.refuse_job();
  end if;
  insert into fencepost.job (id, seq, created_at, lease_ms, priority, failures_max, losses_max, queue, task, payload)
  values (p_id, nextval('fencepost.job_seq'), fencepost.clock(), p_lease_ms, p_priority, p_failures_max, p_losses_max,
          p_queue, p_task, p_payload)
  on conflict (id) do nothing -- guard: enqueue_one.once
  returning seq into v_seq;
  if v_seq is null then
    return ( -- guard: enqueue_one.conflict
      select m.answer from fencepost.enqueue_many(array[p_id], array[p_task], array[p_payload], array[p_queue],
        array[p_priority], array[0], array[p_failures_max], array[p_losses_max], array[p_lease_ms]) m);
  end if;
  insert into fencepost.ready
    (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task)
  values (p_id, v_seq, 0, 0, p_priority, 0, 0, p_failures_max, p_losses_max, p_queue, p_task);
  -- What rouse() asks, asked here: to call it for nothing would take longer than to look.
  if exists (select 1 from fencepost.sleeper s where s.queue = p_queue)
     or current_setting('transaction_isolation') <> 'read committed' then -- guard: enqueue_one.old_snapshot
    perform fencepost.rouse(array[p_queue]); -- guard: enqueue_one.rouse
  end if;
  return 'enqueued';
end $$;
