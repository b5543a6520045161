-- Every claim begins at the beginning.
select fencepost.lab_replace('fencepost.pick', 'if to_timestamp((v_mark', 'if false and to_timestamp((v_mark');
