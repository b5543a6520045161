-- layer 1, the stored run: whoever has decided goes ahead, whatever has become of the run since.
select fencepost.lab_replace('fencepost.advance_run', 'and r.revision = (p_change ->> ''revision'')::bigint', ''),
       fencepost.lab_replace('fencepost.advance_run', 'and t.ended_at is null; -- guard: advance.ended_once', ';');

-- layer 2, derived ids: each dispatch makes a job of its own.
select fencepost.lab_replace('fencepost.make_items', 'fencepost.item_id(p_run_id, v_task, v_ordinal, i)',
                             'overlay(gen_random_uuid()::text placing ''8'' from 15)::uuid');
