-- By priority, and by nothing else.
select fencepost.lab_replace('fencepost.claim', 'if v_ranks = ''{}'' and v_free > 0 and (p_turn % 16 = 0', 'if false and (p_turn % 16 = 0');
