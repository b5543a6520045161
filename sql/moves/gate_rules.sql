-- Small rules of gates, shared by the moves.

-- gate_keys(gates) → the keys of a job's gates, in the order in which they are waited for
-- (Nearly all have one. In SQL, or by a query, it would start an executor for each of thousands of jobs.)
create or replace function fencepost.gate_keys(p_gates jsonb) returns text[]
language plpgsql immutable strict
as $$
begin
  if jsonb_array_length(p_gates) = 1 then
    return array[p_gates -> 0 ->> 'key'];
  end if;
  return (select array_agg(g ->> 'key' order by n) from jsonb_array_elements(p_gates) with ordinality as a(g, n));
end $$;

-- local_limit(gates) → how many jobs of its group one process runs at a time; a group is the last gate
create or replace function fencepost.local_limit(p_gates jsonb) returns smallint
language sql immutable
as $$
  select (p_gates -> -1 ->> 'local')::smallint
$$;

-- overrun_ms(gates) → for how long its job may hold them: the shortest of what they allow
create or replace function fencepost.overrun_ms(p_gates jsonb) returns bigint
language sql immutable
as $$
  select min((g ->> 'overrunMs')::bigint) from jsonb_array_elements(p_gates) as g
$$;

-- fifo_held(gates, held) → how many of the held gates a job keeps while it is delayed, parked or paused: a strict one,
-- which comes first
create or replace function fencepost.fifo_held(p_gates text[], p_held smallint) returns smallint
language sql immutable
as $$
  select case when p_gates[1] like 'fifo:%' then least(p_held, 1) else least(p_held, 0) end::smallint
$$;

-- may_step_aside(gates, held) → whether a job of a paused queue or task waits at the gate of the pause: not while it has
-- its place in a strict order to keep, nor while it holds a gate that it would have to give back
create or replace function fencepost.may_step_aside(p_gates text[], p_held smallint) returns boolean
language sql immutable
as $$
  select p_held = case when p_gates[1] like 'fifo:%' then 1 else 0 end
$$;

-- given_back(gates, held, kept, overrun) → the gates that a job which held `held` and keeps `kept` gives back; those that
-- it held for too long it has given back before
create or replace function fencepost.given_back(p_gates text[], p_held smallint, p_kept smallint, p_overrun text[])
returns text[]
language sql immutable
as $$
  select array(select k from unnest(p_gates[p_kept + 1 : p_held]) as k
               where p_overrun is null or k <> all (p_overrun)) -- guard: gate_rules.overrun
$$;

-- limit_in_force(gate) → a person's word, or the declared limit; for a group with a limit per process only, what all
-- processes together can run, so that a backlog does not lie in the way of every claim
create or replace function fencepost.limit_in_force(p_gate fencepost.gate) returns integer
language sql stable
as $$
  select coalesce(p_gate.set_limit, p_gate.declared_limit,
                  p_gate.local_limit * greatest(1, (select count(*) from fencepost.worker))::integer, 0)
$$;

-- halted(key) → whether this is the gate of a task run one of whose items has failed
create or replace function fencepost.halted(p_key text) returns boolean
language sql stable
as $$
  select p_key like 'gate: run/%' and exists (select 1 from fencepost.halt h where h.key = p_key)
$$;

-- admitted(waiter) → the row of `ready`, or of its next gate, of a job that has got the slot it waited for; what waits for the
-- end of a pause gets none
create or replace function fencepost.admitted(p_waiter fencepost.waiting) returns fencepost.ready
language sql immutable
as $$
  select row(p_waiter.job_id, p_waiter.seq, p_waiter.tries, p_waiter.releases, p_waiter.priority, p_waiter.failures,
             p_waiter.losses, p_waiter.failures_max, p_waiter.losses_max, p_waiter.queue, p_waiter.task, p_waiter.gates,
             p_waiter.held + case when p_waiter.gate like 'pause:%' then 0 else 1 end, p_waiter.local_limit,
             p_waiter.fresh)::fencepost.ready
$$;
