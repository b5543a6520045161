-- take_calls(tasks, limit, letters, items, busy_ms) → (run_id, context)
--
-- Runs that have something to do, each with all that an advance decides on: the run, the task runs that have not ended
-- (with the next `items` of those that have more to make), and up to `letters` rows of its inbox. Nothing is consumed:
-- that is for advance().
-- A run is taken by one process at a time, for `busy_ms`: after a crash another takes it. That spares work, and is not
-- what keeps a run from being advanced twice.
-- A run that was taken 20 times in a row without an advance fails: it would be "running" for ever.
-- `tasks`: those whose code this process has; a run that needs others is left to who has them.
-- Locks: rows of `run`, skipping locked ones. Of a run that fails, then those of cancel().
create or replace function fencepost.take_calls(
  p_tasks text[], p_limit integer default 20, p_letters integer default 2000, p_items integer default 5000,
  p_busy_ms integer default 10000
) returns table (run_id uuid, context jsonb)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_runs uuid[] := '{}';
  v_spent uuid[] := '{}';
  v_dead bigint[] := '{}';
  v_call record;
  v_tries integer;
begin
  if not exists (select 1 from fencepost.call) then
    return;
  end if;
  perform fencepost.durable(); -- guard: take_calls.durable
  v_now := fencepost.clock();
  -- Who was called first is first: a run that always has something to do is called anew by each advance, and goes to the
  -- end. One after the other: one that somebody holds locked must not stand before the others.
  for v_call in
    select c.id, r.id as run_id, r.state, r.ended_at
    from fencepost.call c
    join fencepost.run r on r.id = c.run_id
    where r.ended_at is not null or r.state = 'paused'
      or (r.busy_until is null or r.busy_until < v_now)
        and (r.state <> 'running' or r.needs <@ p_tasks) -- guard: take_calls.needs
    order by c.id
  loop
    if v_call.ended_at is not null or v_call.state = 'paused' then
      v_dead := v_dead || v_call.id; -- it has nothing to do; what it is told later it is called for again, and so by a resume
      exit when cardinality(v_dead) >= 1000;
      continue;
    end if;
    continue when v_call.run_id = any (v_runs || v_spent);
    select r.advance_tries into v_tries
    from fencepost.run r
    where r.id = v_call.run_id
      -- Looked at again when it is locked.
      and r.state <> 'paused' -- guard: take_calls.paused_meanwhile
      and r.ended_at is null -- guard: take_calls.ended_meanwhile
      and (r.busy_until is null or r.busy_until < v_now) -- guard: take_calls.busy_meanwhile
    for no key update skip locked; -- guard: take_calls.skip_locked
    if not found then
      continue;
    elsif v_tries < 20 then
      v_runs := v_runs || v_call.run_id;
    else
      v_spent := v_spent || v_call.run_id;
    end if;
    exit when cardinality(v_runs) + cardinality(v_spent) >= p_limit;
  end loop;
  if v_dead <> '{}' then
    delete from fencepost.call c
    where c.ctid = any (array(select k.ctid from fencepost.call k where k.id = any (v_dead) for update skip locked)); -- guard: take_calls.dead_skip_locked
  end if;
  if v_spent <> '{}' then -- guard: take_calls.spent
    update fencepost.run r
    set state = 'failed', ended_at = v_now, revision = r.revision + 1, busy_until = null, error = jsonb_build_object(
      'code', 'FP_ADVANCE_LOST', 'message', format('its advance was begun %s times and never came to an end', r.advance_tries))
    where r.id = any (v_spent);
    perform fencepost.abandon(v_spent); -- guard: take_calls.abandon
    perform fencepost.run_ended(v_spent);
  end if;
  if v_runs = '{}' then
    return;
  end if;
  update fencepost.run r
  set busy_until = v_now + p_busy_ms * interval '1 ms', advance_tries = r.advance_tries + 1
  where r.id = any (v_runs);

  -- A new statement: it sees all that was told before the lock.
  return query
    select r.id, jsonb_build_object(
      'run', to_jsonb(r) - 'busy_until' - 'advance_tries',
      'now', extract(epoch from v_now) * 1000,
      'inbox', coalesce(i.letters, '[]'),
      'active', coalesce(t.active, '[]'))
    from fencepost.run r
    left join lateral (
      select jsonb_agg(jsonb_build_object('ids', g.ids, 'kind', g.kind, 'task', g.task, 'ordinal', g.ordinal, 'item', g.item,
                                          'payload', g.payload) order by g.ids -> 0) as letters
      from (
        -- The items of a list that succeeded are told by their number.
        select l.kind, l.task, l.ordinal, min(l.item) as item, jsonb_agg(l.id order by l.id) as ids, min(l.payload::text)::jsonb as payload
        from (select x.*, x.kind = 'item' and x.payload ->> 'outcome' = 'succeeded' as plain
              from (select y.*, sum(octet_length(y.payload::text)) over (order by y.id) - octet_length(y.payload::text) as bytes
                    from (select * from fencepost.inbox z where z.run_id = r.id order by z.id limit p_letters) y) x
              where coalesce(x.bytes, 0) < 8388608) l -- one at least, and no more than a message can hold
        group by l.kind, l.task, l.ordinal, case when l.plain then 0 else l.id end
      ) g
    ) i on true
    left join lateral (
      -- Each by its name: to_jsonb() of the row would read the whole list, which may be long.
      select jsonb_agg(jsonb_build_object(
        'task', a.task, 'ordinal', a.ordinal, 'action', a.action, 'state', a.state, 'total', a.total,
        'dispatched', a.dispatched, 'succeeded', a.succeeded, 'failed', a.failed, 'stopped', a.stopped, 'stop', a.stop,
        'concurrency', a.concurrency, 'via', a.via, 'via_ordinal', a.via_ordinal, 'input', a.input, 'result', a.result,
        'error', a.error,
        -- What the only item of a task came to.
        'ending', case when a.items is null and a.dispatched = 1 then coalesce(
          (select jsonb_build_object('result', f.result, 'error', f.error) from fencepost.finished f
           where f.job_id = fencepost.item_id(a.run_id, a.task, a.ordinal, 0)),
          (select jsonb_build_object('result', o.output, 'error', o.error) from fencepost.run o
           where o.id = fencepost.item_id(a.run_id, a.task, a.ordinal, 0))) end,
        'slice',
        case when a.dispatched < a.total and a.stop is null and a.items is not null then jsonb_path_query_array(
          a.items, '$[$from to $to]', jsonb_build_object('from', a.dispatched, 'to', a.dispatched - 1 + case
            when a.action like 'workflow.%' and a.concurrency is not null
            then least(p_items, greatest(1, a.concurrency - a.dispatched + a.succeeded + a.failed)) else p_items end)) end)) as active
      from fencepost.task_run a
      where a.run_id = r.id and a.ended_at is null
    ) t on true
    where r.id = any (v_runs);
end $$;

-- run_ended(runs): tells who waits for their end: the run of which one is an item, and those that watch it.
-- Called in the transaction that ends them, with their rows locked and changed before: whoever begins to watch one locks
-- its row, too, and either sees that it has ended or is seen here.
create or replace function fencepost.run_ended(p_run_ids uuid[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_called uuid[];
begin
  with ended as (
    select r.* from fencepost.run r where r.id = any (p_run_ids)
  ), seen as (
    delete from fencepost.watch w using ended e where w.watched = e.id returning w.*, e.state as how, e.ended_at as at
  ), told as (
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, item, payload)
    select e.parent_id, e.ended_at, 'item', e.parent_task, e.parent_ordinal, e.parent_item, -- guard: take_calls.parent
           jsonb_build_object('outcome', e.state, 'code', e.error -> 'code', 'message',
                              -- Of runs in runs, the cause is at the end.
                              case when length(e.error ->> 'message') <= 500 then e.error ->> 'message'
                                   else left(e.error ->> 'message', 97) || ' … ' || right(e.error ->> 'message', 400) end)
    from ended e
    where e.parent_id is not null
    union all
    select s.run_id, s.at, 'watched', s.task, s.ordinal, 0, jsonb_build_object('outcome', s.how, 'run', s.watched)
    from seen s
    returning run_id
  )
  select array_agg(distinct t.run_id) into v_called from told t;
  if v_called is not null then
    perform fencepost.call_runs(v_called);
  end if;
  delete from fencepost.timer t where t.run_id = any (p_run_ids); -- guard: take_calls.timers
  delete from fencepost.watch w where w.run_id = any (p_run_ids); -- guard: take_calls.watches
  delete from fencepost.inbox i where i.run_id = any (p_run_ids); -- guard: take_calls.letters (nobody will read them)
end $$;

-- abandon(runs): what a run that fails without an advance has under way is asked to stop, and no longer counted. A rerun
-- finds it as cut off.
create or replace function fencepost.abandon(p_run_ids uuid[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_run uuid;
begin
  foreach v_run in array p_run_ids loop
    update fencepost.task_run t set stop = 'all', stopped = 0 where t.run_id = v_run and t.ended_at is null;
    perform fencepost.stop_items(v_run, 100000);
    with ended as (
      update fencepost.task_run t
      set state = 'cancelled', ended_at = fencepost.clock(), failed = t.dispatched - t.succeeded, total = t.dispatched,
          error = '{"code": "FP_ADVANCE_LOST", "message": "its run could not be advanced"}'
      where t.run_id = v_run and t.ended_at is null
      returning t.task, t.ordinal, t.state
    )
    update fencepost.run r
    set progress = jsonb_set(r.progress, '{cutOff}', coalesce(r.progress -> 'cutOff', '[]') || coalesce(
      (select jsonb_agg(jsonb_build_object('task', e.task, 'ordinal', e.ordinal, 'status', e.state)) from ended e), '[]'))
    where r.id = v_run; -- guard: take_calls.cut_off
  end loop;
end $$;
