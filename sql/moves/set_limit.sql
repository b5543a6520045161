-- set_limit(key, limit) → the limit in force before, null if there was none
--
-- A person's word on a gate: it wins over what the tasks declare, until it is taken back with null. Raised, waiters are
-- admitted with the next turn of any worker; lowered, nobody is killed, and nobody is admitted until it is below.
-- Locks: the gate, which is waited for: nothing else is held here, and whoever holds a gate waits for nothing. A
--   transaction of the caller's has to begin with it, and to end soon: whoever makes the same gate waits for its end.
create or replace function fencepost.set_limit(p_key text, p_limit integer) returns integer
language plpgsql
as $$
declare
  v_gate fencepost.gate;
  v_before integer;
begin
  perform fencepost.durable(); -- guard: set_limit.durable
  -- An update that changes nothing: the gate is locked, or made, also if it is being removed just now.
  insert into fencepost.gate as g (key) values (p_key)
  on conflict (key) do update set key = g.key
  returning g.* into v_gate;
  v_before := case when v_gate.set_limit is null and v_gate.declared_seq is null then null
                   else fencepost.limit_in_force(v_gate) end;
  update fencepost.gate g
  set set_limit = p_limit, held_before = g.held
  where g.key = p_key;
  perform fencepost.leave_nudges(array[row(p_key, 0, null, null, null, null)::fencepost.nudge]); -- guard: set_limit.nudge
  return v_before;
end $$;
