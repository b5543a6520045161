-- The slot is returned by the job's id: whoever says that it is done returns it, whatever its lease is worth.
select fencepost.lab_replace('fencepost.finish',
  'from ended g cross join lateral unnest(g.gates) as k
          where g.gates is not null and (g.overrun is null or k <> all (g.overrun)))',
  'from fencepost.job g cross join lateral unnest(fencepost.gate_keys(g.gates)) as k where g.id = any (p_job_ids))');
