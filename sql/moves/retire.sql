-- retire(worker)
--
-- A worker goes, or is swept: its row and its sleepers go with it. Its leases stay: they are settled, or run out.
-- Locks: the rows of that worker.
create or replace function fencepost.retire(p_worker text) returns void
language sql
as $$
  delete from fencepost.sleeper s where s.worker = p_worker;
  delete from fencepost.worker w where w.id = p_worker;
$$;
