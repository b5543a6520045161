-- compatible-from: 6
--
-- Pages of `leased` are filled: room that is left in each for heartbeats is room in which a thousand short leases, which never have
-- one, are not. What is updated in a full page goes to another one once, and from then on finds the room of what has gone.
alter table fencepost.leased reset (fillfactor);

-- The places that jobs pass through are cleaned up in one go. By default a vacuum pauses so often that it takes twenty seconds for
-- what a busy minute leaves behind, and a queue that is worked on all the time is behind with it for as long.
alter table fencepost.ready set (autovacuum_vacuum_cost_delay = 0);
alter table fencepost.leased set (autovacuum_vacuum_cost_delay = 0);
alter table fencepost.waiting set (autovacuum_vacuum_cost_delay = 0);
