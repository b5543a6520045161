-- sleep(worker, queues), awake(worker, queues)
--
-- A worker that found these queues empty asks to be notified, or no longer needs it.
-- Locks: its rows of `sleeper`.
create or replace function fencepost.sleep(p_worker text, p_queues text[]) returns void
language sql
as $$
  insert into fencepost.sleeper (queue, worker) select q, p_worker from unnest(p_queues) as q on conflict do nothing -- guard: sleep.again
$$;

create or replace function fencepost.awake(p_worker text, p_queues text[]) returns void
language sql
as $$
  delete from fencepost.sleeper s where s.worker = p_worker and s.queue = any (p_queues)
$$;
