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
  -- What it cancels is cancelled by its advance: however many items there are, the answer does not wait for them.
  update fencepost.run r
  set state = 'cancelling', cancel_mode = p_mode, revision = r.revision + 1, busy_until = null, -- guard: control_run.cancel_revision
      error = jsonb_build_object('code', 'FP_RUN_CANCELLED', 'message', coalesce(p_reason, 'cancelled'))
  where r.id = p_run_id and r.ended_at is null
    and (r.state <> 'cancelling' or p_mode = 'cancel_running' and r.cancel_mode = 'allow_finish');
  if not found then
    return query select * from fencepost.run_refused(p_run_id, 'cancelling');
    return;
  end if;
  perform fencepost.call_runs(array[p_run_id]); -- guard: control_run.cancel_call
  -- Items that wait at the gate of a paused run could not be ended there.
  perform fencepost.resume_gates(array[p_run_id]);
  -- Runs that were paused with it are let end; paused, they could not.
  if p_mode = 'allow_finish' then
    for v_item in select r.id from fencepost.run r where r.parent_id = p_run_id and r.state = 'paused' order by r.id loop
      perform fencepost.resume_run(v_item);
    end loop;
  end if;
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

-- The key, without its kind, of the gate that limits how many items of a task run run at a time.
create or replace function fencepost.run_gate(p_run_id uuid, p_task text, p_ordinal integer) returns text
language sql immutable parallel safe
as $$
  select 'run/' || p_run_id || '/' || p_task || '/' || p_ordinal
$$;

create or replace function fencepost.run_refused(p_run_id uuid, p_wanted text) returns table (answer text, state text)
language sql stable
as $$
  select case when r.id is null then 'missing' when r.ended_at is not null then 'ended' when r.state = p_wanted then 'already'
              else r.state end, r.state
  from (select p_run_id as id) a left join fencepost.run r on r.id = a.id
$$;

-- tell_run(run, kind, name, payload) → (answer)
--
-- Puts a letter into a run's inbox: a `signal` or an `answer`. Whether something waits for it is for the advance to see;
-- what comes too early is kept there, so that neither can miss the other.
-- Answers: `sent`; `ended`; `missing`.
-- Locks: none.
create or replace function fencepost.tell_run(p_run_id uuid, p_kind text, p_name text, p_payload jsonb) returns text
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_ended timestamptz;
begin
  perform fencepost.durable(); -- guard: control_run.tell_durable
  select r.ended_at into v_ended from fencepost.run r where r.id = p_run_id;
  if not found then
    return 'missing';
  elsif v_ended is not null then
    return 'ended';
  end if;
  insert into fencepost.inbox (run_id, at, kind, task, payload) values (p_run_id, fencepost.clock(), p_kind, p_name, p_payload);
  perform fencepost.call_runs(array[p_run_id]);
  return 'sent';
end $$;

-- rerun(run, task, reset) → (answer, state)
--
-- Takes a run that has ended up again, from a task that it has reached: its failed items are tried again, or, with
-- `reset`, all of the task is, under a new ordinal. What follows from it follows again.
-- Answers: `rerunning`; `running` if the run has not ended; `never_reached`; `missing`; `item_of` if the run is an item of
--   another: that one is to be rerun.
-- Locks: the run's row; then those of retry().
create or replace function fencepost.rerun(p_run_id uuid, p_task text, p_reset boolean) returns table (answer text, state text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_run fencepost.run;
  v_task fencepost.task_run;
  v_reopened boolean := false;
  v_retried uuid[];
begin
  perform fencepost.durable(); -- guard: control_run.rerun_durable
  select r.* into v_run from fencepost.run r where r.id = p_run_id for no key update;
  if not found then
    return query select 'missing', null::text;
  elsif v_run.ended_at is null then
    return query select 'running', v_run.state;
  elsif v_run.parent_id is not null then
    return query select 'item_of', v_run.state;
  elsif not exists (select 1 from fencepost.task_run t where t.run_id = p_run_id and t.task = p_task) then
    return query select 'never_reached', v_run.state;
  else
    update fencepost.run r
    set state = 'running', ended_at = null, revision = r.revision + 1, error = null, output = null, cancel_mode = null,
        advance_tries = 0, busy_until = null
    where r.id = p_run_id;
    select t.* into v_task from fencepost.task_run t
    where t.run_id = p_run_id and t.task = p_task order by t.ordinal desc limit 1;
    -- Its jobs that did not succeed go on as they are, with what their steps have recorded.
    if not p_reset and v_task.state <> 'succeeded' and v_task.dispatched > 0 and v_task.action !~ '^(core|wait|workflow)\.' then
      update fencepost.task_run t
      set state = 'running', ended_at = null, failed = 0, stop = null, stopped = 0, error = null,
          total = coalesce(jsonb_array_length(t.items), 1)
      where t.run_id = p_run_id and t.task = p_task and t.ordinal = v_task.ordinal;
      delete from fencepost.halt h where h.key = 'gate:' || fencepost.run_gate(p_run_id, p_task, v_task.ordinal);
      select array_agg(t.job_id) into v_retried
      from fencepost.retry(
        array(select fencepost.item_id(p_run_id, p_task, v_task.ordinal, i) from generate_series(0, v_task.dispatched - 1) as i),
        true, true) t
      where t.answer = 'retried';
      -- What the run has not heard yet of the ends that are undone (its advance was lost) is no longer so.
      delete from fencepost.inbox i
      where i.run_id = p_run_id and i.kind = 'item'
        and fencepost.item_id(i.run_id, i.task, i.ordinal, i.item) = any (v_retried);
      v_reopened := true;
    end if;
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, payload)
    values (p_run_id, fencepost.clock(), 'rerun', p_task, v_task.ordinal, to_jsonb(v_reopened));
    perform fencepost.call_runs(array[p_run_id]);
    return query select 'rerunning', 'running';
  end if;
end $$;
