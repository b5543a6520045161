-- compatible-from: 6
--
-- A move with one more parameter: a second function of that name would make calls ambiguous. And enqueue_many_fresh is new:
-- whoever calls it must not start where it is not.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname = 'sqs_send'
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;
