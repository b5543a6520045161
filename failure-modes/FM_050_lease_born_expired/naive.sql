-- The time is read when the call begins, as `now()` does it, and not after the last wait.
select fencepost.lab_replace('fencepost.claim', 'v_over text[];', 'v_over text[]; v_called timestamptz := fencepost.clock();'),
       fencepost.lab_replace('fencepost.claim', 'fencepost.clock() as claimed_at,', 'v_called as claimed_at,');
