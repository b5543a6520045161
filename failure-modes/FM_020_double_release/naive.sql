-- The slot is returned by the job's id: whoever says that it is done returns it, whatever its lease is worth.
select fencepost.lab_replace('fencepost.finish',
  'case when bool_or(e.gates is not null) then (
           select array_agg(k) -- guard: finish.slots (only of leases that this has ended)
           from (select unnest(g.gates) as k, g.overrun from ended g) g
           where g.overrun is null or k <> all (g.overrun)) end',
  '(select array_agg(k)
    from fencepost.job g cross join lateral unnest(fencepost.gate_keys(g.gates)) as k where g.id = any (p_job_ids))');
