-- tell_runs(): trigger on `finished`
--
-- Whatever ends an item tells its run in the same transaction: no move can forget it, and nobody decides here whether the
-- run has to do something: that is for advance() to see.
-- A batch of jobs that are no items costs one look at their ids.
-- Locks: none. Two items of one run that end at the same time do not wait for each other.
create or replace function fencepost.tell_runs() returns trigger
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_runs uuid[];
begin
  if not exists (select 1 from ended e where get_byte(uuid_send(e.job_id), 6) between 128 and 143) then
    return null;
  end if;
  with told as (
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, item, payload) -- guard: tell_runs.inbox
    select j.run_id, e.finished_at, 'item', j.run_task, j.ordinal, j.item,
           case when e.outcome = 'succeeded' then '{"outcome": "succeeded"}' else
             jsonb_build_object('outcome', e.outcome, 'reason', e.reason, 'code', e.error -> 'code',
                                'message', left(e.error ->> 'message', 500)) end
    from ended e
    cross join lateral (select * from fencepost.job k where k.id = e.job_id offset 0) j
    where get_byte(uuid_send(e.job_id), 6) between 128 and 143 and j.run_id is not null
    returning run_id
  )
  select array_agg(distinct t.run_id) into v_runs from told t;
  -- Before the slot of an item that failed is handed over: the next one must not begin.
  insert into fencepost.halt (key) -- guard: tell_runs.halt
  select distinct 'gate:' || fencepost.run_gate(j.run_id, j.run_task, j.ordinal)
  from ended e
  cross join lateral (select * from fencepost.job k where k.id = e.job_id offset 0) j
  where e.outcome <> 'succeeded' and j.policy ? 'halt';
  if v_runs is not null then
    perform fencepost.call_runs(v_runs); -- guard: tell_runs.call
  end if;
  return null;
end $$;

-- call_runs(runs): these runs have something to do. A worker that sleeps is woken.
create or replace function fencepost.call_runs(p_run_ids uuid[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  insert into fencepost.call (run_id) select unnest(p_run_ids);
  -- A new statement, after the insert, as in place().
  perform pg_notify('fencepost.ready', '') -- guard: tell_runs.notify
  where exists (select 1 from fencepost.sleeper)
     or current_setting('transaction_isolation') <> 'read committed'; -- guard: tell_runs.notify_old_snapshot
end $$;
