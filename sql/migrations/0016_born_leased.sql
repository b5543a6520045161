-- compatible-from: 6
--
-- enqueue_claimed is new: whoever calls it must not start where it is not. claim and turn take more: a second function of that name
-- would make the calls of older processes ambiguous.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname in ('claim', 'turn')
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;

-- How many leases a row tells of, if it is one text for several.
alter type fencepost.claimed add attribute taken integer;
