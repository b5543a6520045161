-- Whoever is free takes what is next, and looks afterwards what it is.
select fencepost.lab_replace('fencepost.pick', 'q.task = any (p_tasks)', 'true');
