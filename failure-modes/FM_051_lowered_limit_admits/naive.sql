-- One goes out, one comes in: whatever the limit is by now.
select fencepost.lab_replace('fencepost.hand_over', 'and g.held <= coalesce(g.set_limit, g.declared_limit, fencepost.limit_in_force(g))', '');
