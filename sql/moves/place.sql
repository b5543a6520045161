-- place(jobs)
--
-- The one way into `ready`. Every move that makes a job runnable hands its rows to this function.
--
-- Locks: none that wait; the rows are new.
create or replace function fencepost.place(p_jobs fencepost.ready[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  insert into fencepost.ready select * from unnest(p_jobs) as j order by j.seq;
end $$;
