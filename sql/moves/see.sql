-- see(worker, stopping) → boolean
--
-- A worker shows that it is alive. False if it was swept meanwhile: others took it for dead, and it goes on as a new one.
-- Locks: the worker's row.
create or replace function fencepost.see(p_worker text, p_stopping boolean default false) returns boolean
language plpgsql
as $$
begin
  update fencepost.worker w
  set seen_at = fencepost.clock(),
      stopping_at = case when p_stopping then coalesce(w.stopping_at, fencepost.clock()) end
  where w.id = p_worker;
  return found;
end $$;
