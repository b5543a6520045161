-- wake(job_id, name, payload, own) → (answer)
--
-- Move: parked → place(), if the job waits for the signal `name`. Otherwise the signal is kept in the job's mailbox,
-- and a later park under that name finds it.
-- Answers: `woken`; `kept`; `existing` if a signal of that name was sent before: the first one stands; `finished` if
--   the job has ended; `missing` if there is no such job.
-- Locks: the mailbox row, then the row of `parked`. park locks the mailbox row, too: neither can miss the other.
create or replace function fencepost.wake(p_job_id uuid, p_name text, p_payload jsonb default null, p_own boolean default false)
returns table (answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_ready fencepost.ready[];
  v_calls fencepost.nudge[];
begin
  perform fencepost.durable(); -- guard: wake.durable
  if not exists (select 1 from fencepost.job j where j.id = p_job_id) then -- guard: wake.missing
    return query select 'missing';
    return;
  elsif exists (select 1 from fencepost.finished f where f.job_id = p_job_id) then -- guard: wake.ended
    return query select 'finished';
    return;
  end if;

  begin
    insert into fencepost.signal as s (job_id, name, sent_at, payload)
    values (p_job_id, p_name, fencepost.clock(), p_payload)
    on conflict (job_id, name) do update set sent_at = excluded.sent_at, payload = excluded.payload
      where s.sent_at is null; -- guard: wake.once
    if not found then
      return query select 'existing';
      return;
    end if;

    -- A new statement: a park that held the mailbox row until now has committed after the first one's snapshot.
    with woken as (
      delete from fencepost.parked p -- guard: wake.new_statement
      where p.job_id = p_job_id
        and p.wait_name = p_name -- guard: wake.name
      returning p.*
    )
    select array_agg(row(w.job_id, w.seq, w.tries, w.releases, w.priority, w.failures, w.losses, w.failures_max,
                         w.losses_max, w.queue, w.task, w.gates, w.held, w.local_limit, false)::fencepost.ready)
    into v_ready
    from woken w;

    -- A cancel may have ended the job while this waited for its row: then the signal is taken back.
    if v_ready is null
       and exists (select 1 from fencepost.finished f where f.job_id = p_job_id) -- guard: wake.ended_meanwhile
    then
      raise sqlstate 'FP003';
    end if;
  exception when sqlstate 'FP003' then
    return query select 'finished';
    return;
  end;
  if v_ready is null then
    return query select 'kept';
    return;
  end if;
  v_calls := fencepost.place(v_ready);
  if v_calls is not null then
    perform fencepost.admit(v_calls, p_own);
  end if;
  return query select 'woken';
end $$;
