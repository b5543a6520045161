-- Fetch a batch, and see afterwards what there is room for; what there is none for is given back as if it had failed.
select fencepost.lab_replace('fencepost.pick', 'coalesce(array_agg(f.ctid order by f.priority, f.seq) filter (where f.n <= f.local_limit), ''{}'')',
                             'array_agg(f.ctid)'),
       fencepost.lab_replace('fencepost.release', 'e.tries, e.releases_now, e.priority, e.failures, e.losses',
                             'e.tries, e.releases, e.priority, e.failures + 1, e.losses');
