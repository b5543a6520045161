-- clock() → timestamptz
--
-- The only source of time for every move. Not now(): that is the start of the transaction, and a move that waited for
-- a lock and then set a lease from it made leases that were born expired. Tests and the lab replace this function.
create or replace function fencepost.clock() returns timestamptz
language sql volatile parallel safe
as $$
  select clock_timestamp() -- guard: clock.wall
$$;
