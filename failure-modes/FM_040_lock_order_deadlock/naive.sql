-- A cancel that takes the gate first, because it will need it, and then the job's row; and settles that take the job's
-- row and then wait for the gate.
select fencepost.lab_replace('fencepost.admit', E'for update\n      skip locked', 'for update'),
       fencepost.lab_replace('fencepost.hand_over', 'if p_own and current_setting', 'if false and current_setting'),
       fencepost.lab_replace('fencepost.cancel', 'perform fencepost.durable();', '
         perform 1 from fencepost.gate g
         where g.key in (select unnest(fencepost.gate_keys(j.gates)) from fencepost.job j where j.id = any (p_job_ids))
         order by g.key for update;
         perform fencepost.lab_pause();');
