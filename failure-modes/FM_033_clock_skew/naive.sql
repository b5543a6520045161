-- Time as the worker's machine tells it.
create or replace function fencepost.clock() returns timestamptz
language sql volatile
as $$
  select clock_timestamp() + (select offset_ms from fencepost.lab_clock) * interval '1 ms'
       + coalesce(nullif(current_setting('lab.worker_clock_ms', true), ''), '0')::bigint * interval '1 ms'
$$;
