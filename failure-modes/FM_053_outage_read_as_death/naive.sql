-- A lease that has run out is a worker that is dead, whoever was away meanwhile.
select fencepost.lab_replace('fencepost.reap', 'where greatest(l.lease_ms, 4 * p_every_ms) < 2 * v_gap_ms', 'where false');
