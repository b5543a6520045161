-- take_calls(tasks, limit, letters, items, busy_ms) → (run_id, context)
--
-- Runs that have something to do, each with all that an advance decides on: the run, the task runs that have not ended
-- (with the next `items` of those that have more to make), and up to `letters` rows of its inbox. Nothing is consumed:
-- that is for advance().
-- A run is taken by one process at a time, for `busy_ms`: after a crash another takes it. That spares work, and is not
-- what keeps a run from being advanced twice.
-- A run that was taken 20 times in a row without an advance fails: it would be "running" for ever.
-- `tasks`: those whose code this process has; a run that needs others is left to who has them.
-- Locks: rows of `run`, skipping locked ones.
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
  v_runs uuid[];
  v_spent uuid[];
  v_called uuid;
  v_tries integer;
begin
  if not exists (select 1 from fencepost.call) then
    return;
  end if;
  perform fencepost.durable(); -- guard: take_calls.durable
  v_now := fencepost.clock();
  -- A run that has ended, or is paused, has nothing to do; what it is told later it is called for again.
  delete from fencepost.call c
  where c.ctid = any (array(
    select k.ctid from fencepost.call k
    join fencepost.run r on r.id = k.run_id
    where r.ended_at is not null or r.state = 'paused' -- resume calls again
    limit 1000
    for update of k skip locked));
  -- One after the other: runs that somebody holds locked, for however long, must not stand before the others.
  for v_called in
    select distinct q.id
    from fencepost.call c
    join fencepost.run q on q.id = c.run_id
    where q.state <> 'paused' and q.ended_at is null
      and (q.busy_until is null or q.busy_until < v_now)
      and q.needs <@ p_tasks -- guard: take_calls.needs
  loop
    select r.advance_tries into v_tries
    from fencepost.run r
    where r.id = v_called
      and r.state <> 'paused' and r.ended_at is null -- looked at again when it is locked
      and (r.busy_until is null or r.busy_until < v_now)
    for no key update skip locked;
    if found then
      v_runs := case when v_tries < 20 then v_runs || v_called else v_runs end;
      v_spent := case when v_tries < 20 then v_spent else v_spent || v_called end;
    end if;
    exit when coalesce(cardinality(v_runs), 0) + coalesce(cardinality(v_spent), 0) >= p_limit;
  end loop;
  if v_spent is not null then -- guard: take_calls.spent
    update fencepost.run r
    set state = 'failed', ended_at = v_now, revision = r.revision + 1, busy_until = null, error = jsonb_build_object(
      'code', 'FP_ADVANCE_LOST', 'message', format('its advance was begun %s times and never came to an end', r.advance_tries))
    where r.id = any (v_spent);
    perform fencepost.run_ended(v_spent);
  end if;
  if v_runs is null then
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
              from fencepost.inbox x where x.run_id = r.id order by x.id limit p_letters) l
        group by l.kind, l.task, l.ordinal, case when l.plain then 0 else l.id end
      ) g
    ) i on true
    left join lateral (
      select jsonb_agg(to_jsonb(a) - 'items' - 'run_id' || jsonb_build_object(
        -- What the only item of a task came to.
        'ending', case when a.items is null and a.dispatched = 1 then coalesce(
          (select jsonb_build_object('result', f.result, 'error', f.error) from fencepost.finished f
           where f.job_id = fencepost.item_id(a.run_id, a.task, a.ordinal, 0)),
          (select jsonb_build_object('result', o.output, 'error', o.error) from fencepost.run o
           where o.id = fencepost.item_id(a.run_id, a.task, a.ordinal, 0))) end,
        'slice',
        case when a.items is not null and a.dispatched < a.total and a.stop is null then jsonb_path_query_array(
          a.items, '$[$from to $to]', jsonb_build_object('from', a.dispatched, 'to', a.dispatched + p_items - 1)) end)) as active
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
    select e.parent_id, e.ended_at, 'item', e.parent_task, e.parent_ordinal, e.parent_item, -- guard: run_ended.parent
           jsonb_build_object('outcome', e.state, 'code', e.error -> 'code', 'message', left(e.error ->> 'message', 500))
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
  delete from fencepost.timer t where t.run_id = any (p_run_ids);
end $$;
