-- A job that is given back is dispatched like a new one: through its gate, whose slot it still holds.
select fencepost.lab_replace('fencepost.release', 'e.task, e.gates, e.kept, e.local_limit', 'e.task, e.gates, 0, e.local_limit');
