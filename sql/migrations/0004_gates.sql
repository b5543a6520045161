-- compatible-from: 4
--
-- Gates: keyed limits. A job goes through its gates in the order of their keys, and holds a slot of each while it is
-- `ready` or `leased`. The slots are not rows of their own: the place row names the gates that its job holds, and `held`
-- of the gate is the number of those rows. A slot that becomes free is handed to the next waiter by the move that frees
-- it; only a slot that opens or closes changes the gate.
--
--   held = place rows that hold the gate + what the nudges say has been freed
--
-- Keys begin with their kind: `fifo:` (strict order), `gate:`, `group:`; in this order, by bytes, they are waited for.
-- `pause:queue:` and `pause:task:` keys are where the gated jobs of what is paused wait.

-- Moves whose parameters or answers change: a second function of that name would make calls ambiguous.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname in ('place', 'enqueue', 'enqueue_many', 'finish', 'fail', 'release', 'wake', 'cancel', 'retry')
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;

alter table fencepost.job add column gates jsonb; -- [{ key, limit, local, onFull, overrunMs }], in the order of their keys

-- What travels: the keys; how many of them, from the first, the job holds; for a group, how many of its jobs one process
-- runs at a time (the group's key is then the last); and whether the job has never been admitted (only while it waits).
alter table fencepost.ready
  add column gates text[], add column held smallint, add column local_limit smallint, add column fresh boolean;
alter table fencepost.leased
  add column gates text[], add column held smallint, add column local_limit smallint,
  add column overrun text[], -- gates that it held for too long, and that no longer count it
  add column overrun_at timestamptz;
alter table fencepost.delayed
  add column gates text[], add column held smallint, add column local_limit smallint;
alter table fencepost.parked
  add column gates text[], add column held smallint, add column local_limit smallint;
create index leased_overrun on fencepost.leased (overrun_at) where overrun_at is not null;

create table fencepost.gate (
  key            text        collate "C" not null primary key,
  held           integer     not null default 0 check (held >= 0),
  -- What the newest job says of its limit, and which task that was; another task with another limit disputes it.
  declared_limit integer,
  local_limit    integer,
  declared_seq   bigint,
  declared_by    text,
  disputed_by    text,
  -- What a person says: that wins.
  set_limit      integer,
  paused_at      timestamptz,
  -- How many held it when its limit was lowered: they are not killed.
  held_before    integer
) with (fillfactor = 70);
create index gate_paused on fencepost.gate (key) where paused_at is not null;

-- This gate may have room: look. `freed` slots have been given back and are not yet subtracted from `held`.
create table fencepost.nudge (
  key            text collate "C" not null,
  freed          integer not null,
  declared_limit integer,
  local_limit    integer,
  declared_seq   bigint,
  declared_by    text
);
create index nudge_key on fencepost.nudge (key);

-- At a gate. `rank` is the priority, or 0 where the order is strict.
create table fencepost.waiting (
  gate         text        collate "C" not null,
  rank         smallint    not null,
  seq          bigint      not null,
  job_id       uuid        not null,
  since        timestamptz not null,
  tries        integer     not null,
  releases     integer     not null,
  priority     smallint    not null,
  failures     smallint    not null,
  losses       smallint    not null,
  failures_max smallint    not null,
  losses_max   smallint    not null,
  held         smallint    not null,
  local_limit  smallint,
  fresh        boolean     not null,
  on_full      text        not null,
  queue        text        not null,
  task         text        not null,
  gates        text[]      not null,
  primary key (gate, rank, seq)
);
-- Those that do not wait for long: they are discarded, or replaced by the next one, when the gate is full.
create index waiting_impatient on fencepost.waiting (gate, seq) where fresh and on_full <> 'wait';

-- The new columns come last: views of other people's that use this one stay.
create or replace view fencepost.jobs as
select j.id, j.task, j.queue,
       case when f.job_id is not null then 'finished' when l.job_id is not null then 'leased'
            when r.job_id is not null then 'ready' when w.job_id is not null then 'waiting'
            when d.job_id is not null then 'delayed' when p.job_id is not null then 'parked' end as place,
       f.outcome, j.priority, j.seq,
       coalesce(f.tries, l.tries, r.tries, w.tries, d.tries, p.tries) as tries,
       coalesce(f.failures, l.failures, r.failures, w.failures, d.failures, p.failures) as failures,
       coalesce(f.losses, l.losses, r.losses, w.losses, d.losses, p.losses) as losses,
       coalesce(f.releases, l.releases, r.releases, w.releases, d.releases, p.releases) as releases,
       j.created_at, coalesce(d.due_at, p.due_at) as due_at, f.finished_at, coalesce(f.worker, l.worker) as worker,
       l.expires_at, p.wait_name, l.cancel_requested_at, f.reason, w.gate as waits_at, w.since as waits_since
from fencepost.job j
left join fencepost.ready r on r.queue = j.queue and r.priority = j.priority and r.seq = j.seq
left join fencepost.leased l on l.job_id = j.id
left join lateral (
  select w.* from fencepost.waiting w
  where j.gates is not null and w.seq = j.seq and w.rank in (0, j.priority)
    and w.gate = any (array['pause:queue:' || j.queue, 'pause:task:' || j.task]
                      || array(select g ->> 'key' from jsonb_array_elements(j.gates) g))
) w on true
left join fencepost.delayed d on d.job_id = j.id
left join fencepost.parked p on p.job_id = j.id
left join fencepost.finished f on f.job_id = j.id;
