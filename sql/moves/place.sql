-- place(jobs)
--
-- The one way into `ready`. Every move that makes a job runnable hands its rows to this function.
-- A worker that sleeps is notified: it has said so in `sleeper`, and looks again until every transaction that may not
-- have seen that has ended (src/worker/sleep.ts). Above READ COMMITTED the snapshot may be older than the sleeper's row:
-- then everyone is notified.
--
-- Locks: none that wait; the rows are new.
create or replace function fencepost.place(p_jobs fencepost.ready[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  insert into fencepost.ready select * from unnest(p_jobs) as j order by j.seq;
  -- A new statement, after the insert: a sleeper that is not seen here looks again and finds the job.
  perform pg_notify('fencepost.ready', q.queue) -- guard: place.notify
  from (select distinct j.queue from unnest(p_jobs) as j) q
  where exists (select 1 from fencepost.sleeper s where s.queue = q.queue)
    or current_setting('transaction_isolation') <> 'read committed'; -- guard: place.old_snapshot
end $$;
