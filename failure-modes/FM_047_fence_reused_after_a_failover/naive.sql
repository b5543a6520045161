-- layer 1: the fence does not name the job: the number of the lease is taken to be one of a kind.
select fencepost.lab_replace(move, 'and l.job_id = p_job_ids[a.n] -- guard: finish.fence_job', '')
from unnest(array['fencepost.end_leases', 'fencepost.end_leases_between']) as move;
-- layer 2: nothing tells two leases with the same number apart.
select fencepost.lab_replace('fencepost.claim', 'floor(random() * 9007199254740991)', '0');
