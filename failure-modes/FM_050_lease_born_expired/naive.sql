-- The time is read when the call begins, as `now()` does it, and not after the last wait.
select fencepost.lab_replace('fencepost.claim', 'v_paused text[];', 'v_paused text[]; v_called timestamptz := fencepost.clock();'),
       fencepost.lab_replace('fencepost.claim', 'v_now := fencepost.clock();', 'v_now := v_called;');
