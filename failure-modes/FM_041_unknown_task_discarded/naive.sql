-- Whoever is free takes what is next, and looks afterwards what it is.
select fencepost.lab_replace('fencepost.claim', 'q.task = any (v_tasks)', 'true');
