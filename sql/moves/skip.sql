-- skip(job_id, own) → answer
--
-- A job that is delayed or parked and keeps its strict gate meanwhile gives it up: the others pass. When it is due, or
-- woken, it waits at the gate again, with its seq: ahead of everyone who came after it.
-- Answers: `skipped`; `running`, `ready`, `waiting`, `finished`: it blocks nobody by waiting; `not_held`; `missing`.
-- Locks: the row of `delayed` or `parked`. Then those of admit().
create or replace function fencepost.skip(p_job_id uuid, p_own boolean default false) returns text
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_gates text[];
begin
  perform fencepost.durable(); -- guard: skip.durable
  update fencepost.delayed d set held = 0 where d.job_id = p_job_id and d.held > 0 returning d.gates into v_gates; -- guard: skip.once
  if not found then
    update fencepost.parked p set held = 0 where p.job_id = p_job_id and p.held > 0 returning p.gates into v_gates; -- guard: skip.parked_once
  end if;
  if found then
    perform fencepost.give_back(v_gates, 1::smallint, 0::smallint, null, p_own);
    return 'skipped';
  end if;
  return coalesce((
    select case when j.place in ('delayed', 'parked') then 'not_held' when j.place = 'leased' then 'running'
                else j.place end
    from fencepost.jobs j where j.id = p_job_id), 'missing');
end $$;
