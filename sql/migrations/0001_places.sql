-- compatible-from: 1
--
-- The places of a job, one table each, and the logs of what happened.
--
-- `ready`, `leased`, `delayed` and `parked` are hot and small: their rows are deleted and inserted, never kept.
-- `job`, `finished` and `attempt` are append-only. There are no foreign keys between them: they would cost a lock and
-- a lookup on every move, and the moves themselves keep what the keys would check. `fencepost audit` looks.
--
-- Columns are ordered wide-aligned first: a row of `ready` is 66 bytes plus its two names.

create sequence fencepost.job_seq;
create sequence fencepost.lease_seq;

create type fencepost.outcome as enum ('succeeded', 'failed', 'cancelled', 'discarded', 'expired');

-- What was asked for. Never updated. (queue, priority, seq) is where the job is found in `ready`, which therefore
-- needs no index on its id.
create table fencepost.job (
  id           uuid        not null primary key,
  seq          bigint      not null,
  created_at   timestamptz not null,
  due_at       timestamptz,
  lease_ms     integer     not null check (lease_ms > 0),
  priority     smallint    not null,
  failures_max smallint    not null check (failures_max >= 0),
  losses_max   smallint    not null check (losses_max >= 0),
  queue        text        not null check (queue <> ''),
  task         text        not null check (task <> ''),
  payload      jsonb       not null
);

-- The columns of `ready` are what travels with a job from place to place. `failures_max` and `losses_max` travel,
-- too, because a retry grants a fresh budget on top of counters that never go back.
create table fencepost.ready (
  job_id       uuid     not null,
  seq          bigint   not null,
  tries        integer  not null,
  releases     integer  not null,
  priority     smallint not null,
  failures     smallint not null,
  losses       smallint not null,
  failures_max smallint not null,
  losses_max   smallint not null,
  queue        text     not null,
  task         text     not null,
  primary key (queue, priority, seq)
);

-- The key is lease_id, not job_id: leases are born in order and die young, so the index stays at its right edge.
-- No index on expires_at: it would cost every claim and would keep heartbeats from being heap-only updates.
create table fencepost.leased (
  lease_id            bigint      not null primary key,
  nonce               bigint      not null,
  job_id              uuid        not null,
  seq                 bigint      not null,
  claimed_at          timestamptz not null,
  expires_at          timestamptz not null,
  started_at          timestamptz,
  cancel_requested_at timestamptz,
  turn                bigint,
  lease_ms            integer     not null,
  tries               integer     not null,
  releases            integer     not null,
  priority            smallint    not null,
  failures            smallint    not null,
  losses              smallint    not null,
  failures_max        smallint    not null,
  losses_max          smallint    not null,
  queue               text        not null,
  task                text        not null,
  worker              text        not null,
  cancel_reason       text
) with (fillfactor = 70);

create table fencepost.delayed (
  job_id       uuid        not null primary key,
  due_at       timestamptz not null,
  seq          bigint      not null,
  tries        integer     not null,
  releases     integer     not null,
  priority     smallint    not null,
  failures     smallint    not null,
  losses       smallint    not null,
  failures_max smallint    not null,
  losses_max   smallint    not null,
  queue        text        not null,
  task         text        not null
);
create index delayed_due on fencepost.delayed (due_at);

-- Waiting for a signal, a time, or whichever comes first.
create table fencepost.parked (
  job_id       uuid        not null primary key,
  due_at       timestamptz,
  seq          bigint      not null,
  tries        integer     not null,
  releases     integer     not null,
  priority     smallint    not null,
  failures     smallint    not null,
  losses       smallint    not null,
  failures_max smallint    not null,
  losses_max   smallint    not null,
  queue        text        not null,
  task         text        not null,
  wait_name    text        not null
);
create index parked_due on fencepost.parked (due_at) where due_at is not null;

-- The COMMITTED boundary: one outcome per job, by primary key. (lease_id, nonce) is the fence that ended it, null
-- when no lease did; it lets a settle asked again be told `already`.
create table fencepost.finished (
  job_id      uuid              not null primary key,
  lease_id    bigint,
  nonce       bigint,
  finished_at timestamptz       not null,
  started_at  timestamptz,
  outcome     fencepost.outcome not null,
  tries       integer           not null,
  releases    integer           not null,
  failures    smallint          not null,
  losses      smallint          not null,
  worker      text,
  reason      text,
  result      jsonb,
  error       jsonb
);

-- Every ending of a lease other than a first-try success. The late_ columns hold what a worker said after its lease
-- had already ended; outcome and retried_at hold an outcome that a retry undid.
create table fencepost.attempt (
  job_id      uuid        not null,
  lease_id    bigint      not null,
  nonce       bigint      not null,
  ended_at    timestamptz not null,
  claimed_at  timestamptz,
  started_at  timestamptz,
  late_at     timestamptz,
  retried_at  timestamptz,
  outcome     fencepost.outcome,
  ending      text        not null check (ending in
                ('succeeded', 'failed', 'lost', 'released', 'parked', 'cancelled', 'unknown')),
  late_ending text        check (late_ending in ('succeeded', 'failed', 'released', 'parked')),
  worker      text,
  reason      text,
  error       jsonb,
  late        jsonb,
  primary key (job_id, lease_id, nonce)
);

-- The mailbox of a job: park and wake both lock the row (job, name) first and look then, so neither misses the other.
create table fencepost.signal (
  job_id  uuid not null,
  name    text not null check (name <> ''),
  due_at  timestamptz,
  sent_at timestamptz,
  payload jsonb,
  primary key (job_id, name)
);

-- A job as people see it: where it is, and its counters. Every join but the one to `leased` (which is small) has an
-- index.
create view fencepost.jobs as
select j.id, j.task, j.queue,
       case when f.job_id is not null then 'finished' when l.job_id is not null then 'leased'
            when r.job_id is not null then 'ready' when d.job_id is not null then 'delayed'
            when p.job_id is not null then 'parked' end as place,
       f.outcome, j.priority, j.seq,
       coalesce(f.tries, l.tries, r.tries, d.tries, p.tries) as tries,
       coalesce(f.failures, l.failures, r.failures, d.failures, p.failures) as failures,
       coalesce(f.losses, l.losses, r.losses, d.losses, p.losses) as losses,
       coalesce(f.releases, l.releases, r.releases, d.releases, p.releases) as releases,
       j.created_at, coalesce(d.due_at, p.due_at) as due_at, f.finished_at, coalesce(f.worker, l.worker) as worker,
       l.expires_at, p.wait_name, l.cancel_requested_at, f.reason
from fencepost.job j
left join fencepost.ready r on r.queue = j.queue and r.priority = j.priority and r.seq = j.seq
left join fencepost.leased l on l.job_id = j.id
left join fencepost.delayed d on d.job_id = j.id
left join fencepost.parked p on p.job_id = j.id
left join fencepost.finished f on f.job_id = j.id;

-- The tasks and queues that some process has announced: for listing, and to tell a misspelt name from a new one.
create table fencepost.task (
  name          text        not null,
  queue         text        not null,
  first_seen_at timestamptz not null,
  primary key (name, queue)
);
