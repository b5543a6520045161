-- Every claim begins at the beginning.
select fencepost.lab_replace('fencepost.claim', 'if to_timestamp((v_mark', 'if false and to_timestamp((v_mark');
