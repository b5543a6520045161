-- item_id(run, task, ordinal, item) → the id of an item: of its job, or of its run if the action is a workflow
--
-- Derived, so that whoever makes the same item a second time finds it there. It begins with the time of its run, as an id
-- that is made of the time would, and is of version 8.
create or replace function fencepost.item_id(p_run_id uuid, p_task text, p_ordinal integer, p_item integer) returns uuid
language sql immutable parallel safe
as $$
  select (substr(p_run_id::text, 1, 8) || substr(p_run_id::text, 10, 4) || '8' || substr(h, 1, 3) || '8' || substr(h, 4, 15))::uuid
  from md5(p_run_id || '/' || p_ordinal || '/' || p_item || '/' || p_task) as h -- guard: item_id.derived
$$;
