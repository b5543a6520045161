-- pause_run(run), resume_run(run), cancel_run(run, mode, reason) → (answer, state)
--
-- Each is one change of the run's row: an advance that was decided before it changes nothing, so that no task is begun
-- after the answer.
-- Answers: `paused`, `resumed`, `cancelling`; `already`; `ended` with the state it has; `missing`; and what it cannot be
--   while it is failing or cancelling: `failing`, `cancelling`.
-- A paused run lets end what runs; the items that wait at the gate of a task run stay there. Runs that are its items are
-- paused with it.
-- Locks: rows of `run`, the parent's before those of its items, which are waited for: nobody who holds one waits for
--   another.
create or replace function fencepost.pause_run(p_run_id uuid) returns table (answer text, state text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_item uuid;
begin
  perform fencepost.durable(); -- guard: control_run.pause_durable
  update fencepost.run r
  set state = 'paused', revision = r.revision + 1, busy_until = null -- guard: control_run.pause_revision
  where r.id = p_run_id and r.state = 'running';
  if not found then
    return query select * from fencepost.run_refused(p_run_id, 'paused');
    return;
  end if;
  perform fencepost.pause('gate:' || fencepost.run_gate(p_run_id, t.task, t.ordinal))
  from fencepost.task_run t
  where t.run_id = p_run_id and t.ended_at is null and t.concurrency is not null and t.action not like 'workflow.%'
  order by t.task, t.ordinal;
  for v_item in select r.id from fencepost.run r where r.parent_id = p_run_id and r.state = 'running' order by r.id loop
    perform fencepost.pause_run(v_item);
  end loop;
  return query select 'paused', 'paused';
end $$;

create or replace function fencepost.resume_run(p_run_id uuid) returns table (answer text, state text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_item uuid;
begin
  perform fencepost.durable(); -- guard: control_run.resume_durable
  update fencepost.run r
  set state = 'running', revision = r.revision + 1, busy_until = null
  where r.id = p_run_id and r.state = 'paused';
  if not found then
    return query select * from fencepost.run_refused(p_run_id, 'running');
    return;
  end if;
  perform fencepost.call_runs(array[p_run_id]); -- guard: control_run.resume_call
  perform fencepost.resume_gates(array[p_run_id]);
  for v_item in select r.id from fencepost.run r where r.parent_id = p_run_id and r.state = 'paused' order by r.id loop
    perform fencepost.resume_run(v_item);
  end loop;
  return query select 'resumed', 'running';
end $$;

create or replace function fencepost.cancel_run(p_run_id uuid, p_mode text default 'cancel_running', p_reason text default null)
returns table (answer text, state text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_item uuid;
begin
  perform fencepost.durable(); -- guard: control_run.cancel_durable
  update fencepost.run r
  set state = 'cancelling', cancel_mode = p_mode, revision = r.revision + 1, busy_until = null, -- guard: control_run.cancel_revision
      error = case when r.state = 'failing' then r.error else
        jsonb_build_object('code', 'FP_RUN_CANCELLED', 'message', coalesce(p_reason, 'cancelled')) end
  where r.id = p_run_id and r.ended_at is null
    and (r.state <> 'cancelling' or p_mode = 'cancel_running' and r.cancel_mode = 'allow_finish'); -- guard: control_run.cancel_harder
  if not found then
    return query select * from fencepost.run_refused(p_run_id, 'cancelling');
    return;
  end if;
  perform fencepost.call_runs(array[p_run_id]); -- guard: control_run.cancel_call
  -- Nobody is let through the gates of its lists any more, paused or not.
  insert into fencepost.halt (key) -- guard: control_run.cancel_halt
  select 'gate:' || fencepost.run_gate(t.run_id, t.task, t.ordinal)
  from fencepost.task_run t
  where t.run_id = p_run_id and t.ended_at is null and t.concurrency is not null;
  perform fencepost.resume_gates(array[p_run_id]);
  -- The first thousand items of each task end now, the others by its advances: the answer does not wait for them.
  update fencepost.task_run t
  set stop = case p_mode when 'cancel_running' then 'all' else 'unstarted' end, stopped = 0
  where t.run_id = p_run_id and t.ended_at is null and t.state = 'running' and t.stop is distinct from 'all';
  for v_item in select r.id from fencepost.run r where r.parent_id = p_run_id and r.ended_at is null order by r.id loop
    perform fencepost.cancel_run(v_item, p_mode, p_reason);
  end loop;
  perform fencepost.stop_items(p_run_id);
  return query select 'cancelling', 'cancelling';
end $$;

-- The gates that pause_run has paused.
create or replace function fencepost.resume_gates(p_run_ids uuid[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  perform fencepost.resume('gate:' || fencepost.run_gate(t.run_id, t.task, t.ordinal))
  from fencepost.task_run t
  where t.run_id = any (p_run_ids) and t.ended_at is null and t.concurrency is not null and t.action not like 'workflow.%'
  order by t.run_id, t.task, t.ordinal;
end $$;

-- The key, without its kind, of the gate that limits how many items of a task run run at a time. It begins with a blank, to
-- be waited for before the other gates of an item: what waits for its run must not hold what others share.
create or replace function fencepost.run_gate(p_run_id uuid, p_task text, p_ordinal integer) returns text
language sql immutable parallel safe
as $$
  select ' run/' || p_run_id || '/' || p_task || '/' || p_ordinal
$$;

create or replace function fencepost.run_refused(p_run_id uuid, p_wanted text) returns table (answer text, state text)
language sql stable
as $$
  select case when r.id is null then 'missing' when r.ended_at is not null then 'ended' when r.state = p_wanted then 'already'
              else r.state end, r.state
  from (select p_run_id as id) a left join fencepost.run r on r.id = a.id
$$;

-- tell_run(run, kind, name, payload, id, ordinal) → (answer)
--
-- Puts a letter into a run's inbox: a `signal` or an `answer`. Whether something waits for it is for the advance to see;
-- what comes too early is kept there, so that neither can miss the other. Told twice under one id, it is heard once.
-- Answers: `sent`; `full` if a thousand that nothing has waited for are kept already; `ended`; `missing`.
-- Locks: none.
create or replace function fencepost.tell_run(
  p_run_id uuid, p_kind text, p_name text, p_payload jsonb, p_id uuid default fencepost.new_id(),
  p_ordinal integer default null
) returns text
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_ended timestamptz;
  v_kept integer;
begin
  perform fencepost.durable(); -- guard: control_run.tell_durable
  select r.ended_at, jsonb_array_length(coalesce(r.progress -> 'signals', '[]')) into v_ended, v_kept
  from fencepost.run r where r.id = p_run_id;
  if not found then
    return 'missing';
  elsif v_ended is not null then -- guard: control_run.tell_ended
    return 'ended';
  elsif v_kept + (select count(*) from fencepost.inbox i where i.run_id = p_run_id and i.kind in ('signal', 'answer')) >= 1000 then -- guard: control_run.full
    return 'full';
  end if;
  insert into fencepost.inbox (run_id, at, kind, task, ordinal, payload)
  values (p_run_id, fencepost.clock(), p_kind, p_name, p_ordinal, jsonb_build_object('id', p_id, 'said', p_payload));
  perform fencepost.call_runs(array[p_run_id]);
  return 'sent';
end $$;

-- rerun(run, task, reset, later) → (answer, state)
--
-- Takes a run that has ended up again, from a task that it has reached: its failed items are tried again, or, with
-- `reset`, all of the task is, under a new ordinal. What follows from it (`later`) follows again; what else the end of the
-- run had cut off goes on.
-- Answers: `rerunning`; `running` if the run has not ended; `never_reached`; `missing`; `item_of` if the run is an item of
--   another: that one is to be rerun.
-- Locks: the run's row, then those of its items; then those of retry().
create or replace function fencepost.rerun(
  p_run_id uuid, p_task text, p_reset boolean, p_later text[] default '{}'
) returns table (answer text, state text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_run fencepost.run;
  v_task fencepost.task_run;
  v_reopened boolean := false;
begin
  perform fencepost.durable(); -- guard: control_run.rerun_durable
  select r.* into v_run from fencepost.run r where r.id = p_run_id for no key update; -- guard: control_run.rerun_lock
  if not found then
    return query select 'missing', null::text;
  elsif v_run.ended_at is null then -- guard: control_run.rerun_running
    return query select 'running', v_run.state;
  elsif v_run.parent_id is not null then -- guard: control_run.rerun_item
    return query select 'item_of', v_run.state;
  elsif not exists (select 1 from fencepost.task_run t where t.run_id = p_run_id and t.task = p_task) then
    return query select 'never_reached', v_run.state;
  else
    update fencepost.run r
    set state = 'running', ended_at = null, revision = r.revision + 1, error = null, output = null, cancel_mode = null,
        advance_tries = 0, busy_until = null
    where r.id = p_run_id;
    delete from fencepost.inbox i where i.run_id = p_run_id and i.kind = 'timer';
    select t.* into v_task from fencepost.task_run t
    where t.run_id = p_run_id and t.task = p_task order by t.ordinal desc limit 1;
    if not p_reset then
      v_reopened := fencepost.reopen(v_task);
    end if;
    -- Lists that its end had cut off go on, too.
    perform fencepost.reopen(t)
    from jsonb_to_recordset(v_run.progress -> 'cutOff') as c(task text, ordinal integer)
    join fencepost.task_run t on t.run_id = p_run_id and t.task = c.task and t.ordinal = c.ordinal
    where t.state = 'cancelled' and t.task <> p_task and t.task <> all (p_later);
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, payload)
    values (p_run_id, fencepost.clock(), 'rerun', p_task, v_task.ordinal, to_jsonb(v_reopened));
    perform fencepost.call_runs(array[p_run_id]);
    return query select 'rerunning', 'running';
  end if;
end $$;

-- reopen(task run) → whether its items go on: jobs that did not succeed as they are, with what their steps have recorded
create or replace function fencepost.reopen(p_task fencepost.task_run) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_retried uuid[];
begin
  if p_task.state = 'succeeded' or p_task.dispatched = 0 or p_task.action ~ '^(core\.(echo|noop|fail|sleep|ask)$|wait\.)' then
    return false;
  elsif p_task.action like 'workflow.%' then
    return fencepost.reopen_runs(p_task);
  end if;
  update fencepost.task_run t
  set state = 'running', ended_at = null, failed = 0, stop = null, stopped = 0, error = null,
      total = coalesce(jsonb_array_length(t.items), 1)
  where t.run_id = p_task.run_id and t.task = p_task.task and t.ordinal = p_task.ordinal;
  delete from fencepost.halt h -- guard: control_run.reopen_halt
  where h.key = 'gate:' || fencepost.run_gate(p_task.run_id, p_task.task, p_task.ordinal);
  select array_agg(r.job_id) into v_retried
  from fencepost.retry(
    array(select fencepost.item_id(p_task.run_id, p_task.task, p_task.ordinal, i) from generate_series(0, p_task.dispatched - 1) as i),
    false, true) r
  where r.answer = 'retried';
  -- What the run has not heard of, because its advance was lost, is counted here; of the ends that are undone nothing is left.
  with heard as (
    delete from fencepost.inbox i
    where i.run_id = p_task.run_id and i.kind = 'item' and i.task = p_task.task and i.ordinal = p_task.ordinal
      and (i.payload ->> 'outcome' = 'succeeded'
           or fencepost.item_id(i.run_id, i.task, i.ordinal, i.item) = any (v_retried))
  )
  update fencepost.task_run t
  set succeeded = (
    select count(*)
    from generate_series(0, p_task.dispatched - 1) as i
    join fencepost.finished f on f.job_id = fencepost.item_id(t.run_id, t.task, t.ordinal, i) and f.outcome = 'succeeded')
  where t.run_id = p_task.run_id and t.task = p_task.task and t.ordinal = p_task.ordinal; -- guard: control_run.reopen_count
  return true;
end $$;

-- reopen_runs(task run) → whether its items go on: runs that succeeded keep what they came to, the others begin anew
--
-- They are made once more, by the advances that follow: as many as may be under way, of the version and with the parameters
-- that they would have now. Here they are marked: who makes an item a second time without that finds it there, make_run().
-- Not a task without a list: there is nothing to keep.
create or replace function fencepost.reopen_runs(p_task fencepost.task_run) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids uuid[];
begin
  if p_task.items is null then
    return false;
  end if;
  v_ids := array(
    select fencepost.item_id(p_task.run_id, p_task.task, p_task.ordinal, i)
    from generate_series(0, jsonb_array_length(p_task.items) - 1) as i); -- those, too, that an earlier rerun has not come to
  perform 1 from fencepost.run r where r.id = any (v_ids) order by r.id for no key update;
  -- The end of one that is still under way would be counted before it is made.
  if exists (select 1 from fencepost.run r where r.id = any (v_ids) and r.ended_at is null) then -- guard: control_run.reopen_ended
    return false;
  end if;
  update fencepost.run r set progress = r.progress || '{"again": true}' where r.id = any (v_ids);
  delete from fencepost.inbox i
  where i.run_id = p_task.run_id and i.kind = 'item' and i.task = p_task.task and i.ordinal = p_task.ordinal;
  update fencepost.task_run t
  set state = 'running', ended_at = null, total = cardinality(v_ids), dispatched = 0, succeeded = 0, failed = 0, stop = null,
      stopped = 0, error = null
  where t.run_id = p_task.run_id and t.task = p_task.task and t.ordinal = p_task.ordinal;
  return true;
end $$;
