-- The budget is counted, and nobody looks what becomes of a run that has used it up.
select fencepost.lab_replace('fencepost.take_calls', 'if v_spent <> ''{}'' then', 'if false then');
