-- The slot is returned by the job's id: whoever says that it is done returns it, whatever its lease is worth.
select fencepost.lab_replace(move,
  'case when bool_or(cardinality(e.gates) > 1 or e.overrun is not null) then ( -- guard: finish.one_gate
           select array_agg(k) -- guard: finish.slots (only of leases that this has ended)
           from (select unnest(g.gates) as k, g.overrun from ended g) g
           where g.overrun is null or k <> all (g.overrun)) -- guard: finish.overrun
         else array_agg(e.gates[1]) filter (where e.gates is not null) end',
  '(select array_agg(k)
    from fencepost.job g cross join lateral unnest(fencepost.gate_keys(g.gates)) as k where g.id = any (p_job_ids))')
from unnest(array['fencepost.end_leases', 'fencepost.end_leases_between']) as move;
