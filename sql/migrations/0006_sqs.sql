-- compatible-from: 5
--
-- Queues as clients of Amazon SQS see them. There is no second engine: a message is a job, a receive a claim, a delete a
-- finish, the visibility timeout a lease, a message group a strict gate. What is new is what that wire promises on top:
-- the attributes of a queue, the ledger of sends, the deduplication of FIFO queues.

-- Moves whose parameters change: a second function of that name would make calls ambiguous.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname in ('claim', 'lose', 'awake', 'make_run')
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;

-- A lease without a heartbeat, taken by a client of SQS: when it ends unless something is done. Such leases have an index
-- of their own; those of workers do not pay for it, and their heartbeats stay heap-only updates.
alter table fencepost.leased add column visible_at timestamptz;
create index leased_visible on fencepost.leased (queue, visible_at) where visible_at is not null;

-- The queue that a dead letter came from. A dead letter is the one job whose queue, task and gates change.
alter table fencepost.job add column dead_from text;

-- The id is the generation: a queue that is deleted and created again is another one.
create table fencepost.sqs_queue (
  id          bigint      generated always as identity primary key,
  name        text        not null unique,
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  purged_at   timestamptz,
  settings    jsonb       not null,
  tags        jsonb       not null default '{}'
);

-- The ledger: a row per entry that was sent, in the transaction that stored its message, with the answer that was given.
-- It outlives the message. The key is a digest of who sent it, by which action, the token of the request, the id of the
-- entry and what it says.
create table fencepost.sqs_sent (
  queue_id   bigint      not null,
  key        bytea       not null,
  message_id uuid        not null,
  sent_at    timestamptz not null,
  seq        bigint,
  primary key (queue_id, key)
) with (fillfactor = 90);
-- Rows come in the order of time: a few bytes tell a range of pages that is old.
create index sqs_sent_at on fencepost.sqs_sent using brin (sent_at) with (pages_per_range = 16);

-- What FIFO queues have taken in the last five minutes. The scope is the message group, or empty for the whole queue.
create table fencepost.sqs_dedup (
  queue_id   bigint      not null,
  scope      text        not null,
  dedup_id   text        not null,
  message_id uuid        not null,
  sent_at    timestamptz not null,
  seq        bigint,
  primary key (queue_id, scope, dedup_id)
);

-- The servers that speak SQS, and whether they read and write the ledger.
create table fencepost.sqs_server (
  id      text        not null primary key,
  ledger  text        not null check (ledger in ('off', 'read', 'on')),
  seen_at timestamptz not null
);

-- Messages on their way back from a dead-letter queue.
create table fencepost.sqs_move_task (
  id          uuid        not null primary key,
  source      text        not null,
  destination text,
  started_at  timestamptz not null,
  ended_at    timestamptz,
  status      text        not null check (status in ('RUNNING', 'COMPLETED', 'CANCELLING', 'CANCELLED', 'FAILED')),
  per_second  integer,
  moved       bigint      not null default 0,
  to_move     bigint      not null,
  -- Up to this seq: what comes later was not there when it began.
  until_seq   bigint      not null,
  failure     text,
  moved_at    timestamptz
);
create unique index sqs_move_task_running on fencepost.sqs_move_task (source) where status in ('RUNNING', 'CANCELLING');
