-- Whoever is free takes what is next, and looks afterwards what it is. (claim is long, and the guard one condition: this
-- is the real one without it.)
do $$
begin
  execute replace(pg_get_functiondef('fencepost.claim'::regproc), 'q.task = any (p_tasks)', 'true');
end $$;
