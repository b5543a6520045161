-- compatible-from: 5
--
-- Workflows: a run is one execution of a workflow, a task run one activation of a task in it. The items of a task run are
-- jobs (or runs of their own); what ends tells its run in the transaction that ends it, by a row of `inbox` and a `call`.
--
--   finish, fail, lose, cancel …  ──trigger──▶  inbox + call  ──▶  advance: consumes the inbox, changes the run, makes
--   the jobs that follow, in one transaction
--
-- Nothing of a run is one growing document: `progress` and `vars` are bounded by the definition and by what it publishes.

-- Moves whose parameters or answers change: a second function of that name would make calls ambiguous.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname in ('enqueue_many', 'claim', 'turn', 'cancel', 'retry')
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;

-- A job that is an item of a task run, and what its workflow says of its retries and its timeout instead of its task.
alter table fencepost.job
  add column run_id uuid, add column run_task text, add column ordinal integer, add column item integer,
  add column policy jsonb,
  -- The ids of items are derived, and of version 8: whoever ends a job tells an item from any other job by its id, without
  -- a look at this table.
  add constraint job_item_id check (run_id is null or get_byte(uuid_send(id), 6) between 128 and 143);

-- What a process that does not know the task's code needs to know to make a job of it. `keyed`: it has gates whose keys
-- only the code can tell.
create table fencepost.action (
  task         text        not null primary key,
  queue        text        not null,
  priority     smallint    not null,
  failures_max smallint    not null,
  losses_max   smallint    not null,
  lease_ms     integer     not null,
  keyed        boolean     not null,
  seen_at      timestamptz not null
);

create table fencepost.workflow (
  name        text        not null,
  version     integer     not null,
  digest      text        not null,
  deployed_at timestamptz not null,
  definition  jsonb       not null,
  primary key (name, version),
  unique (name, digest)
);

create table fencepost.run (
  id             uuid        not null primary key,
  -- Grows with every change: an advance that was decided on an older one changes nothing.
  revision       bigint      not null,
  created_at     timestamptz not null,
  ended_at       timestamptz,
  -- Somebody is advancing it, or has died doing so. A hint: two that advance it at once do no harm.
  busy_until     timestamptz,
  version        integer     not null,
  -- Advances that were begun and came to nothing, in a row.
  advance_tries  integer     not null,
  parent_ordinal integer,
  parent_item    integer,
  parent_id      uuid,
  workflow       text        not null,
  state          text        not null check (state in
                   ('running', 'paused', 'failing', 'cancelling', 'succeeded', 'failed', 'cancelled')),
  cancel_mode    text        check (cancel_mode in ('allow_finish', 'cancel_running')),
  parent_task    text,
  -- Tasks whose code an advance needs, to tell the keys of their gates.
  needs          text[]      not null,
  parameters     jsonb       not null,
  vars           jsonb       not null,
  progress       jsonb       not null,
  output         jsonb,
  error          jsonb,
  check ((state in ('succeeded', 'failed', 'cancelled')) = (ended_at is not null))
) with (fillfactor = 50);
create index run_parent on fencepost.run (parent_id) where parent_id is not null;

create table fencepost.task_run (
  run_id      uuid        not null,
  seq         bigint      not null generated always as identity, -- the order in which they began
  started_at  timestamptz not null,
  ended_at    timestamptz,
  ordinal     integer     not null,
  -- Items: in all; made so far; of these ended, and how; and asked to stop, when the task run stops early.
  total       integer     not null,
  dispatched  integer     not null,
  succeeded   integer     not null,
  failed      integer     not null,
  stopped     integer     not null,
  concurrency integer,
  via_ordinal integer,
  task        text        not null,
  action      text        not null,
  state       text        not null check (state in
                ('delayed', 'running', 'waiting', 'succeeded', 'failed', 'timed_out', 'cancelled')),
  stop        text        check (stop in ('unstarted', 'all')),
  via         text,
  items       jsonb,
  input       jsonb,
  result      jsonb,
  error       jsonb,
  primary key (run_id, task, ordinal),
  check ((state in ('delayed', 'running', 'waiting')) = (ended_at is null)),
  check (succeeded + failed <= dispatched and dispatched <= total)
) with (fillfactor = 70);
create index task_run_active on fencepost.task_run (run_id) where ended_at is null;

-- What a run has yet to hear of. Consumed by DELETE: a sequence read as a cursor would miss what commits late.
create table fencepost.inbox (
  id      bigint      not null generated always as identity primary key,
  run_id  uuid        not null,
  at      timestamptz not null,
  ordinal integer,
  item    integer,
  kind    text        not null,
  task    text,
  payload jsonb
);
create index inbox_run on fencepost.inbox (run_id, id);

-- This run has something to do: look. The durable form of a wake-up; there may be several for one run.
create table fencepost.call (
  id     bigint not null generated always as identity primary key, -- who was called first is first
  run_id uuid   not null
);
create index call_run on fencepost.call (run_id);

create table fencepost.timer (
  run_id  uuid        not null,
  due_at  timestamptz not null,
  ordinal integer,
  task    text,
  kind    text        not null
);
create index timer_due on fencepost.timer (due_at);
create index timer_run on fencepost.timer (run_id);

-- A task run that waits for the end of another run.
create table fencepost.watch (
  watched uuid    not null,
  run_id  uuid    not null,
  ordinal integer not null,
  task    text    not null,
  primary key (watched, run_id, task, ordinal)
);

-- Nobody more is let through the gate of a task run one of whose items has failed. Rows, not a column of the gate: two items
-- that fail at the same time must not wait for each other.
create table fencepost.halt (
  key text collate "C" not null
);
create index halt_key on fencepost.halt (key);

create function fencepost.tell_runs() returns trigger language plpgsql as $$ begin return null; end $$; -- see sql/moves
create trigger tell_runs after insert on fencepost.finished
  referencing new table as ended for each statement execute function fencepost.tell_runs();

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
       l.expires_at, p.wait_name, l.cancel_requested_at, f.reason, w.gate as waits_at, w.since as waits_since,
       j.run_id, j.run_task, j.ordinal, j.item
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
