-- pause(key) → whether that changed anything; resume(key) the same
--
-- `queue:<name>`, `task:<name>`, or the key of a gate: nothing is claimed of a paused queue or task, nobody is admitted
-- through a paused gate. What runs goes on. Gated jobs of a paused queue or task give their slots back and wait, with
-- their seq, at a gate of the pause's own, so that they do not hold a key that others share (see yield_paused).
-- Locks: the gate, which is waited for: nothing else is held here, and whoever holds a gate waits for nothing. A
--   transaction of the caller's has to begin with it, and to end soon: whoever makes the same gate waits for its end.
create or replace function fencepost.pause(p_key text) returns boolean
language plpgsql
as $$
begin
  perform fencepost.durable(); -- guard: pause.durable
  insert into fencepost.gate as g (key, paused_at)
  values (case when p_key ~ '^(queue|task):' then 'pause:' || p_key else p_key end, fencepost.clock())
  on conflict (key) do update set paused_at = excluded.paused_at where g.paused_at is null; -- guard: pause.first
  return found;
end $$;

create or replace function fencepost.resume(p_key text) returns boolean
language plpgsql
as $$
declare
  v_key text := case when p_key ~ '^(queue|task):' then 'pause:' || p_key else p_key end;
begin
  perform fencepost.durable(); -- guard: pause.resume_durable
  update fencepost.gate g set paused_at = null where g.key = v_key and g.paused_at is not null; -- guard: pause.resumed
  if not found then
    return false;
  end if;
  -- The jobs of a queue that were ready all the time are there for whoever sleeps.
  perform fencepost.leave_nudges(array[row(v_key, 0, null, null, null, null)::fencepost.nudge]); -- guard: pause.nudge
  return true;
end $$;
