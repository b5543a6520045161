-- register(worker, pid, host, version, queues, tasks)
--
-- Makes a worker known, for people (`fencepost workers`) and so that what it leaves behind can be swept. No decision
-- about a job depends on this row: leases do that. (The window of groups with a limit per process only grows with the
-- number of workers: they are nudged.)
-- Locks: the worker's row.
create or replace function fencepost.register(
  p_worker text, p_pid integer, p_host text, p_version text, p_queues jsonb, p_tasks text[]
) returns void
language sql
as $$
  insert into fencepost.worker (id, started_at, seen_at, pid, host, version, queues, tasks)
  values (p_worker, fencepost.clock(), fencepost.clock(), p_pid, p_host, p_version, p_queues, p_tasks)
  on conflict (id) do update set seen_at = excluded.seen_at; -- guard: register.again
  insert into fencepost.nudge (key, freed) -- guard: register.nudge
  select g.key, 0 from fencepost.gate g where g.local_limit is not null and g.declared_limit is null
$$;
