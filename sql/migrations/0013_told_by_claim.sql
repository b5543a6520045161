-- compatible-from: 6
--
-- A part of moves whose answer changes: it cannot be replaced in its place.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname = 'claim'
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;
