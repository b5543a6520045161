-- enqueue_alike(ids, payloads, task, queue, priority, failures_max, losses_max, lease_ms) → (job_id, answer)
--
-- Move: ∅ → ready, for jobs without delay and gates that have everything in common but their payloads: what a call in bulk
-- brings, and what one process enqueues in the same moment. `payloads` is one JSON array.
-- Only for ids that were made for this very call, and that nobody else can know: it does not look whether they are there.
-- Were one there, it is an error, and nothing is stored. In the order given; what is alike is no column of the statement, which
-- takes half the time of enqueue_many_fresh.
-- Answers: none, as all are `enqueued`.
-- Locks: the new ids in the primary key of `job`, which nobody waits for.
-- It sets nothing, unlike other moves: what is inserted from functions has one plan.
create or replace function fencepost.enqueue_alike(
  p_ids uuid[], p_payloads json, p_task text, p_queue text, p_priority smallint, p_failures_max smallint,
  p_losses_max smallint, p_lease_ms integer
) returns table (job_id uuid, answer text)
language plpgsql
as $$
#variable_conflict use_column
begin
  if current_setting('synchronous_commit') = 'off' then -- guard: enqueue_alike.durable
    perform fencepost.durable();
  end if;
  if not fencepost.may_be_job(p_task, p_queue, p_failures_max, p_losses_max, p_lease_ms) then -- guard: enqueue_alike.may_be_job
    perform fencepost.refuse_job();
  end if;
  with made as (
    insert into fencepost.job (id, seq, created_at, lease_ms, priority, failures_max, losses_max, queue, task, payload)
    select a.id, nextval('fencepost.job_seq'), fencepost.clock(), p_lease_ms, p_priority, p_failures_max, p_losses_max,
           p_queue, p_task, a.payload::jsonb
    from rows from (unnest(p_ids), json_array_elements(p_payloads)) as a(id, payload)
    returning id, seq
  )
  insert into fencepost.ready
    (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task)
  select m.id, m.seq, 0, 0, p_priority, 0, 0, p_failures_max, p_losses_max, p_queue, p_task
  from made m;
  -- What rouse() asks, asked here: to call it for nothing would take longer than to look.
  if exists (select 1 from fencepost.sleeper s where s.queue = p_queue)
     or current_setting('transaction_isolation') <> 'read committed' then -- guard: enqueue_alike.old_snapshot
    perform fencepost.rouse(array[p_queue]); -- guard: enqueue_alike.rouse
  end if;
end $$;
