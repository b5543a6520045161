-- The outcome, and later the COMMIT, as two messages; a gate that is locked in between, and that everyone waits for.
select fencepost.lab_replace('fencepost.admit',
         'if not p_own or current_setting(''transaction_isolation'') <> ''read committed'' then', 'if false then'),
       fencepost.lab_replace('fencepost.admit', E'for update\n      skip locked', 'for update'),
       fencepost.lab_replace('fencepost.hand_over', 'if p_own and current_setting', 'if false and current_setting');
