-- compatible-from: 6
--
-- Pages of `leased` are filled further: room that is left in each for heartbeats is room in which a thousand short leases, which never
-- have one, are not. Some has to be left: leases that are extended together would otherwise move from one full page to the next
-- with every heartbeat, each time with a new entry in the index.
alter table fencepost.leased set (fillfactor = 90);

-- The places that jobs pass through are cleaned up in one go. By default a vacuum pauses for 2 ms after some ten pages: for the 90,000
-- that a busy minute could leave behind in `leased` that is a third of a minute, in which more is left.
alter table fencepost.ready set (autovacuum_vacuum_cost_delay = 0);
alter table fencepost.leased set (autovacuum_vacuum_cost_delay = 0);
alter table fencepost.waiting set (autovacuum_vacuum_cost_delay = 0);
