-- The outcome in one transaction, the slot in the next: the worker returns it afterwards, if it is still there.
select fencepost.lab_replace('fencepost.finish',
  'perform fencepost.admit(fencepost.hand_over(v_ended.freed, p_own), p_own, false);', 'null;');
