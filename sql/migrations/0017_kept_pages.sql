-- compatible-from: 6
--
-- What empties again and again keeps its pages. To give those at its end back to the system, a vacuum shuts out everybody for as long
-- as that takes, on replicas, too: 0.1 s in which nobody could claim, after a backlog of three million; and the next backlog would
-- have to make them anew. Not `leased`: it has no index by job or by worker, and who looks for these reads all of its pages.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['ready', 'waiting', 'delayed', 'parked', 'gate', 'nudge', 'inbox', 'call', 'timer'] loop
    execute format('alter table %s set (vacuum_truncate = off)', ('fencepost.' || v_table)::regclass);
  end loop;
end $$;
