-- compatible-from: 1
--
-- The workers: who is there, who sleeps, and the pulse by which a dead worker is told from an outage.

create table fencepost.worker (
  id          text        not null primary key,
  started_at  timestamptz not null,
  seen_at     timestamptz not null,
  stopping_at timestamptz,
  pid         integer     not null,
  host        text        not null,
  version     text        not null,
  -- The queues it serves, each with its concurrency.
  queues      jsonb       not null,
  tasks       text[]      not null
);

-- A worker that found a queue empty and waits to be notified. Whoever makes a job of that queue ready notifies only if
-- there is such a row: a NOTIFY takes a global lock at commit, and one in every enqueue cost two thirds of the rate.
create table fencepost.sleeper (
  queue  text not null,
  worker text not null,
  primary key (queue, worker)
);

-- When leases that had run out were last looked for. A gap tells of an outage, or of a step of the clock.
create table fencepost.pulse (
  one     boolean     not null primary key default true check (one),
  beat_at timestamptz not null
);

-- Jobs whose worker died under them. They are claimed without neighbours, and must be found among any number of others.
create index ready_suspect on fencepost.ready (queue, priority, seq) where losses > 0;
