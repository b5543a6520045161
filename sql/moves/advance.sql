-- advance(changes) → (run_id, answer)
--
-- What was decided about some runs, each change by itself: consumes the letters it was decided on, and changes the run, its
-- task runs, and what follows from that (jobs, runs, timers, watches, cancels), all in this transaction.
-- Answers: `advanced`; `conflict` if the run is not as it was when the change was decided: then nothing of that change is
--   done, and it is to be decided anew; `locked` if another just holds the run: nothing is done, and the same can be tried
--   again.
-- Two layers keep what follows from being made twice, each enough by itself:
--   1. the stored run: its revision grows with every change, and a task run ends once;
--   2. derived ids: an item that is made again is found there.
-- Locks: rows of `run`, in order of id, skipping locked ones: nobody who holds one waits for another. Then those of
--   enqueue() and cancel(). Who ends an item never locks a run.
create or replace function fencepost.advance(p_changes jsonb) returns table (run_id uuid, answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_change jsonb;
  v_mine uuid[];
  v_advanced uuid[] := '{}';
  v_ended uuid[] := '{}';
begin
  perform fencepost.durable(); -- guard: advance.durable
  select coalesce(array_agg(r.id), '{}') into v_mine -- guard: advance.mine (of null AND … the other side is looked at, too)
  from (
    select q.id from fencepost.run q
    where q.id = any (array(select (c ->> 'run')::uuid from jsonb_array_elements(p_changes) as c))
    order by q.id -- guard: advance.skip_locked
    for no key update skip locked
  ) r;
  for v_change in
    select c from jsonb_array_elements(p_changes) as c order by c ->> 'run'
  loop
    run_id := (v_change ->> 'run')::uuid;
    if run_id = any (v_mine) and fencepost.advance_run(run_id, v_change) then
      answer := 'advanced';
      v_advanced := v_advanced || run_id;
      if v_change ->> 'state' in ('succeeded', 'failed', 'cancelled') then
        v_ended := v_ended || run_id;
      end if;
    else
      answer := case when run_id = any (v_mine) then 'conflict' else 'locked' end;
    end if;
    return next;
  end loop;
  if v_ended <> '{}' then
    perform fencepost.run_ended(v_ended);
  end if;
  for v_change in
    select jsonb_build_object('run', c ->> 'run', 'items', i)
    from jsonb_array_elements(p_changes) as c
    cross join lateral jsonb_array_elements(c -> 'jobs') as i
    where (c ->> 'run')::uuid = any (v_advanced) -- guard: advance.items
  loop
    perform fencepost.make_items((v_change ->> 'run')::uuid, v_change -> 'items');
  end loop;
  -- Gates are called at by nudges, and heeded by one call: several would make and lock them in no order.
  if exists (select 1 from fencepost.nudge) then
    perform fencepost.admit(null, true, true, 200);
  end if;
end $$;

-- One change; the run is locked. False if it is not as it was.
create or replace function fencepost.advance_run(p_run_id uuid, p_change jsonb) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := fencepost.clock();
  v_state text := p_change ->> 'state';
  v_part jsonb;
  v_more boolean := (p_change ->> 'more')::boolean;
  v_opened fencepost.nudge[];
begin
  update fencepost.run r
  set revision = r.revision + 1, state = v_state, busy_until = null, advance_tries = 0,
      vars = coalesce(p_change -> 'vars', r.vars), progress = coalesce(p_change -> 'progress', r.progress),
      output = p_change -> 'output', error = nullif(p_change -> 'error', 'null'),
      ended_at = case when v_state in ('succeeded', 'failed', 'cancelled') then v_now end
  where r.id = p_run_id
    and r.revision = (p_change ->> 'revision')::bigint; -- guard: advance.revision
  if not found then
    return false;
  end if;
  delete from fencepost.inbox i
  where i.run_id = p_run_id and i.id = any (array(select jsonb_array_elements_text(p_change -> 'read')::bigint));

  insert into fencepost.task_run
    (run_id, task, ordinal, started_at, ended_at, total, dispatched, succeeded, failed, stopped, concurrency, via,
     via_ordinal, action, state, stop, items, input, result, error)
  select p_run_id, b.task, b.ordinal, v_now, case when b.ended then v_now end, b.total, b.dispatched, b.succeeded, b.failed, 0,
         b.concurrency, b.via, b."viaOrdinal", b.action, b.state, b.stop, b.items, b.input, b.result, b.error
  from jsonb_to_recordset(p_change -> 'begin') as b(
    task text, ordinal integer, ended boolean, total integer, dispatched integer, succeeded integer, failed integer,
    concurrency integer, via text, "viaOrdinal" integer, action text, state text, stop text, items jsonb, input jsonb,
    result jsonb, error jsonb)
  on conflict (run_id, task, ordinal) do nothing; -- guard: advance.begun_once
  update fencepost.task_run t
  set state = u.state, ended_at = case when u.ended then v_now end, total = u.total, dispatched = u.dispatched,
      succeeded = u.succeeded, failed = u.failed, stop = u.stop, result = coalesce(u.result, t.result),
      input = coalesce(u.input, t.input), error = u.error, items = coalesce(u.items, t.items),
      concurrency = coalesce(u.concurrency, t.concurrency),
      -- Those that were let end may be asked after all.
      stopped = case when u.stop is distinct from t.stop then 0 else t.stopped end -- guard: advance.stop_again
  from jsonb_to_recordset(p_change -> 'update') as u(
    task text, ordinal integer, ended boolean, total integer, dispatched integer, succeeded integer, failed integer,
    concurrency integer, stop text, state text, items jsonb, input jsonb, result jsonb, error jsonb)
  where t.run_id = p_run_id and t.task = u.task and t.ordinal = u.ordinal
    and t.ended_at is null; -- guard: advance.ended_once
  delete from fencepost.timer t
  using jsonb_to_recordset(p_change -> 'update') as u(task text, ordinal integer, ended boolean)
  where u.ended and t.run_id = p_run_id and t.task = u.task and t.ordinal = u.ordinal; -- guard: advance.timers

  delete from fencepost.watch w
  using jsonb_to_recordset(p_change -> 'update') as u(task text, ordinal integer, ended boolean)
  where u.ended and w.run_id = p_run_id and w.task = u.task and w.ordinal = u.ordinal; -- guard: advance.watches
  with opened as (
    delete from fencepost.halt h
    using jsonb_to_recordset(p_change -> 'update') as u(task text, ordinal integer, ended boolean)
    where u.ended and h.key = 'gate:' || fencepost.run_gate(p_run_id, u.task, u.ordinal)
    returning h.key
  )
  select array_agg(distinct row(o.key, 0, null, null, null, null)::fencepost.nudge) into v_opened from opened o;
  if v_opened is not null then
    perform fencepost.leave_nudges(v_opened); -- guard: advance.opened (nobody passes there any more, and it is cleared away)
  end if;

  insert into fencepost.timer (run_id, due_at, task, ordinal, kind)
  select p_run_id, coalesce(t.at, v_now + t.ms * interval '1 ms'), t.task, t.ordinal, t.kind
  from jsonb_to_recordset(p_change -> 'timers') as t(at timestamptz, ms bigint, task text, ordinal integer, kind text)
  where t.ms is distinct from 0;
  insert into fencepost.inbox (run_id, at, kind, task, ordinal, payload)
  select p_run_id, v_now, 'timer', t.task, t.ordinal, to_jsonb(t.kind)
  from jsonb_to_recordset(p_change -> 'timers') as t(ms bigint, task text, ordinal integer, kind text)
  where t.ms = 0;
  v_more := v_more or found;

  for v_part in select jsonb_array_elements(p_change -> 'watch') loop
    perform fencepost.watch_run(p_run_id, v_part);
  end loop;
  for v_part in select jsonb_array_elements(p_change -> 'runs') loop
    perform fencepost.make_run(
      fencepost.item_id(p_run_id, v_part ->> 'task', (v_part ->> 'ordinal')::integer, (v_part ->> 'item')::integer),
      v_part ->> 'workflow', (v_part ->> 'version')::integer, v_part -> 'parameters',
      array(select jsonb_array_elements_text(v_part -> 'needs')), p_run_id, v_part ->> 'task', (v_part ->> 'ordinal')::integer,
      (v_part ->> 'item')::integer, coalesce(v_part -> 'progress', '{}'));
  end loop;
  perform fencepost.stop_items(p_run_id);

  -- One statement, one snapshot: who calls has told in the same transaction, so that what is called for and not yet
  -- heard of keeps its call.
  delete from fencepost.call c
  where c.ctid = any (array(
      select k.ctid from fencepost.call k where k.run_id = p_run_id for update skip locked)) -- guard: advance.call_skip_locked
    and not exists (select 1 from fencepost.inbox i where i.run_id = p_run_id); -- guard: advance.call
  if v_more or exists (
    select 1 from fencepost.task_run t
    where t.run_id = p_run_id and t.ended_at is null and t.stop is not null and t.stopped < t.dispatched -- guard: advance.stop_all
  ) and not exists (select 1 from fencepost.timer t where t.run_id = p_run_id and t.kind = 'stop') then -- guard: advance.stop_pause
    perform fencepost.call_runs(array[p_run_id]);
  end if;
  return true;
end $$;

-- The jobs of some items of one task run, which follow each other. Their ids are derived: what is there is left alone.
-- Queue, priority, budgets and lease are what the task's newest worker says of it.
create or replace function fencepost.make_items(p_run_id uuid, p_items jsonb) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_task text := p_items ->> 'task';
  v_ordinal integer := (p_items ->> 'ordinal')::integer;
  v_from integer := (p_items ->> 'from')::integer;
  v_inputs jsonb[] := array(select jsonb_array_elements(p_items -> 'inputs'));
  v_all integer[] := array[cardinality(v_inputs)];
  v_action fencepost.action;
  v_gates jsonb[];
begin
  select * into v_action from fencepost.action a where a.task = p_items ->> 'action';
  if jsonb_typeof(p_items -> 'gates') = 'array' then -- each its own, of keys that only the task's code can tell
    v_gates := array(select nullif(g, 'null') from jsonb_array_elements(p_items -> 'gates') as g);
  elsif jsonb_typeof(p_items -> 'concurrency') = 'number' then -- guard: advance.concurrency
    v_gates := array_fill(jsonb_build_array(jsonb_build_object(
      'key', 'gate:' || fencepost.run_gate(p_run_id, v_task, v_ordinal), 'limit', p_items -> 'concurrency', 'onFull', 'wait')), v_all);
  end if;
  perform fencepost.enqueue_many(
    array(select fencepost.item_id(p_run_id, v_task, v_ordinal, i) -- guard: advance.derived
          from generate_series(v_from, v_from + v_all[1] - 1) as i),
    array_fill(p_items ->> 'action', v_all), v_inputs,
    array_fill(coalesce(v_action.queue, 'default'), v_all),
    array_fill(coalesce(v_action.priority, 0::smallint), v_all),
    array_fill((p_items ->> 'delayMs')::bigint, v_all),
    array_fill(coalesce((p_items ->> 'failuresMax')::smallint, v_action.failures_max, 5::smallint), v_all),
    array_fill(coalesce(v_action.losses_max, 5::smallint), v_all),
    array_fill(coalesce(v_action.lease_ms, 30000), v_all),
    v_gates, false, p_run_id, v_task, v_ordinal, v_from, nullif(p_items -> 'policy', 'null'));
end $$;

-- Asks items of task runs that stop early to end, some at a time: those that have not begun, or all. Waits for no lease and
-- for no run: where one is held by another, all of that task are asked again in a second.
create or replace function fencepost.stop_items(p_run_id uuid, p_limit integer default 1000) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_task fencepost.task_run;
  v_to integer;
  v_ids uuid[];
  v_free bigint[];
  v_held uuid[];
begin
  for v_task in
    select * from fencepost.task_run t
    where t.run_id = p_run_id and t.ended_at is null and t.stop is not null and t.stopped < t.dispatched
  loop
    v_to := least(v_task.dispatched, v_task.stopped + p_limit);
    v_ids := array(select fencepost.item_id(p_run_id, v_task.task, v_task.ordinal, i)
                   from generate_series(v_task.stopped, v_to - 1) as i);
    if v_task.action like 'workflow.%' then
      v_held := case when fencepost.stop_runs(v_ids, v_task.stop) then '{}' else v_ids end;
    else
      v_held := '{}';
      if v_task.stop = 'all' then
        v_free := array(
          select l.lease_id from fencepost.leased l where l.job_id = any (v_ids)
          for update skip locked); -- guard: advance.stop_held
        v_held := array(
          select l.job_id from fencepost.leased l where l.job_id = any (v_ids) and l.lease_id <> all (v_free));
      end if;
      perform fencepost.cancel(array(select i from unnest(v_ids) as i where i <> all (v_held)), 'the run stops', false,
                               v_task.stop = 'all');
    end if;
    if v_held = '{}' then -- guard: advance.stop_later
      update fencepost.task_run t set stopped = v_to
      where t.run_id = p_run_id and t.task = v_task.task and t.ordinal = v_task.ordinal;
    else
      insert into fencepost.timer (run_id, due_at, kind)
      select p_run_id, fencepost.clock() + interval '1 s', 'stop'
      where not exists (select 1 from fencepost.timer t where t.run_id = p_run_id and t.kind = 'stop');
    end if;
  end loop;
end $$;

-- Cancels runs that are items: false if one of them was locked. Those that run are let end if only what has not begun is
-- to stop.
create or replace function fencepost.stop_runs(p_run_ids uuid[], p_stop text) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_mine uuid[];
begin
  if p_stop = 'unstarted' then
    return true;
  end if;
  v_mine := array(
    select r.id from fencepost.run r
    where r.id = any (p_run_ids) and r.ended_at is null
    order by r.id
    for no key update skip locked); -- guard: advance.stop_runs_held
  update fencepost.run r
  set state = 'cancelling', cancel_mode = 'cancel_running', revision = r.revision + 1, busy_until = null
  where r.id = any (v_mine) and (r.state <> 'cancelling' or r.cancel_mode <> 'cancel_running');
  perform fencepost.call_runs(v_mine);
  perform fencepost.resume_gates(v_mine);
  return not exists ( -- guard: advance.stop_runs_later
    select 1 from fencepost.run r where r.id = any (p_run_ids) and r.ended_at is null and r.id <> all (v_mine));
end $$;

-- Begins to watch a run: its row is locked, so that its end either is seen here or sees this. A run that is not there, or
-- has ended, is told of at once.
create or replace function fencepost.watch_run(p_run_id uuid, p_watch jsonb) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_watched uuid := (p_watch ->> 'run')::uuid;
  v_state text;
  v_ended timestamptz;
begin
  select r.state, r.ended_at into v_state, v_ended from fencepost.run r where r.id = v_watched for share skip locked; -- guard: advance.watch_lock
  if found and v_ended is null then
    insert into fencepost.watch (watched, run_id, task, ordinal)
    values (v_watched, p_run_id, p_watch ->> 'task', (p_watch ->> 'ordinal')::integer)
    on conflict do nothing;
  elsif found or not exists (select 1 from fencepost.run r where r.id = v_watched) then
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, item, payload)
    values (p_run_id, fencepost.clock(), 'watched', p_watch ->> 'task', (p_watch ->> 'ordinal')::integer, 0,
            jsonb_build_object('outcome', coalesce(v_state, 'missing'), 'run', v_watched));
    perform fencepost.call_runs(array[p_run_id]);
  else
    -- It is just being changed: look again in a moment.
    insert into fencepost.timer (run_id, due_at, task, ordinal, kind) -- guard: advance.watch_later
    values (p_run_id, fencepost.clock(), p_watch ->> 'task', (p_watch ->> 'ordinal')::integer, 'watch');
  end if;
end $$;
