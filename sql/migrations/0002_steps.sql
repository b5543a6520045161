-- compatible-from: 1
--
-- The steps of a job: pieces of its handler that are remembered across attempts, for effects outside this database.

create table fencepost.step (
  job_id   uuid        not null,
  name     text        not null check (name <> ''),
  lease_id bigint      not null,
  nonce    bigint      not null,
  begun_at timestamptz not null,
  -- When the attempts that began it must be over, by their timeouts or by their own word; null if that is not known.
  over_at  timestamptz,
  done_at  timestamptz,
  result   jsonb,
  primary key (job_id, name)
);
