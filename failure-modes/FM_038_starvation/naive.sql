-- By priority, and by nothing else.
select fencepost.lab_replace('fencepost.pick', 'and (p_turn % 17 = 0 or', 'and false and (p_turn % 17 = 0 or');
