-- put_workflow(name, digest, definition) → its version
--
-- The same definition is the same version, whenever it is put. The newest is the one that was put last.
-- Locks: an advisory lock on the name.
create or replace function fencepost.put_workflow(p_name text, p_digest text, p_definition jsonb) returns integer
language plpgsql
as $$
declare
  v_version integer;
begin
  perform fencepost.durable(); -- guard: start_run.put_durable
  perform pg_advisory_xact_lock(hashtext('fencepost.workflow'), hashtext(p_name)); -- guard: start_run.put_turn
  insert into fencepost.workflow as w (name, version, digest, deployed_at, definition)
  values (p_name, (select coalesce(max(o.version), 0) + 1 from fencepost.workflow o where o.name = p_name), p_digest,
          fencepost.clock(), p_definition)
  on conflict (name, digest) do update set deployed_at = excluded.deployed_at -- guard: start_run.put_again
  returning w.version into v_version;
  return v_version;
end $$;

-- start_run(id, workflow, version, parameters, needs) → (answer)
--
-- Makes a run. Answers `started`; `existing` if there is a run with this id, workflow and parameters: it is not touched,
-- which makes a start safe to repeat after a lost reply.
-- Raises FP001 if a run with this id is there with another workflow or other parameters.
-- Locks: the id in the primary key of `run`; one that another transaction is just inserting is waited for.
create or replace function fencepost.start_run(
  p_id uuid, p_workflow text, p_version integer, p_parameters jsonb, p_needs text[]
) returns table (answer text)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  perform fencepost.durable(); -- guard: start_run.durable
  if fencepost.make_run(p_id, p_workflow, p_version, p_parameters, p_needs, null, null, null, null, '{}') then
    return query select 'started';
    return;
  end if;
  -- A new statement: the run in the way may have been committed after the first one's snapshot.
  if exists (select 1 from fencepost.run r where r.id = p_id and r.workflow = p_workflow and r.parameters = p_parameters) then -- guard: start_run.same
    return query select 'existing';
    return;
  end if;
  raise exception using errcode = 'FP001',
    message = format('run %s exists with another workflow or other parameters', p_id),
    hint = 'The first run stands. Use a new id for a different run.';
end $$;

-- make_run(id, workflow, version, parameters, needs, parent …, progress) → whether it was made
--
-- An item that is there already is left alone, but for one that a rerun has marked: that is made anew, see reopen_runs().
-- Locks: such an item's row, which has ended: at most somebody who begins to watch it is waited for.
create or replace function fencepost.make_run(
  p_id uuid, p_workflow text, p_version integer, p_parameters jsonb, p_needs text[],
  p_parent_id uuid, p_parent_task text, p_parent_ordinal integer, p_parent_item integer, p_progress jsonb
) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  insert into fencepost.run
    (id, revision, created_at, version, advance_tries, workflow, state, needs, parameters, vars, progress, parent_id,
     parent_task, parent_ordinal, parent_item)
  values (p_id, 0, fencepost.clock(), p_version, 0, p_workflow, 'running', p_needs, p_parameters, '{}', p_progress, p_parent_id,
          p_parent_task, p_parent_ordinal, p_parent_item)
  on conflict (id) do nothing; -- guard: start_run.once
  if not found then
    if p_parent_id is null then
      return false;
    end if;
    -- One that succeeded keeps what it came to; its run is told so once more.
    with kept as (
      update fencepost.run r
      set progress = r.progress - 'again'
      where r.id = p_id and r.state = 'succeeded' and r.progress ? 'again' -- guard: start_run.kept
      returning r.parent_id, r.parent_task, r.parent_ordinal, r.parent_item
    )
    insert into fencepost.inbox (run_id, at, kind, task, ordinal, item, payload)
    select k.parent_id, fencepost.clock(), 'item', k.parent_task, k.parent_ordinal, k.parent_item, '{"outcome": "succeeded"}'
    from kept k;
    if found then
      perform fencepost.call_runs(array[p_parent_id]);
      return false;
    end if;
    -- Any other begins anew. Its activations are counted on: the ids of its items are made of their numbers.
    update fencepost.run r
    set state = 'running', ended_at = null, revision = r.revision + 1, busy_until = null, advance_tries = 0, cancel_mode = null,
        version = p_version, needs = p_needs, parameters = p_parameters, vars = '{}', output = null, error = null,
        progress = p_progress || jsonb_build_object('ordinals', coalesce(r.progress -> 'ordinals', '{}')) -- guard: start_run.ordinals
    where r.id = p_id and r.progress ? 'again'; -- guard: start_run.again
    if not found then
      return false;
    end if;
    delete from fencepost.inbox i where i.run_id = p_id;
  end if;
  insert into fencepost.inbox (run_id, at, kind) values (p_id, fencepost.clock(), 'start');
  perform fencepost.call_runs(array[p_id]);
  return true;
end $$;
