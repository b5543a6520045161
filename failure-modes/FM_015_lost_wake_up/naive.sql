-- The enqueuer that reads "full" leaves it at that, and who returns a slot looks for a waiter once: neither knows of the
-- other. (The real admit without the gate's lock, with a pause point after it has counted.)
select fencepost.lab_replace('fencepost.admit', E'for update\n      skip locked', ''),
       fencepost.lab_replace('fencepost.admit', 'with room as materialized (',
                             'perform fencepost.lab_pause(''B''); with room as materialized (');
