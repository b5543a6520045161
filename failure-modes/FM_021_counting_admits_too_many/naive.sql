-- Count, and admit if there is room: without the gate's lock, so that others count the same. (admit is long, and the guard
-- two words: this is the real one without them, with a pause point after the count.)
select fencepost.lab_replace('fencepost.admit', E'for update\n      skip locked', ''),
       fencepost.lab_replace('fencepost.admit', 'with room as materialized (',
                             'perform fencepost.lab_pause(''A''); with room as materialized (');
