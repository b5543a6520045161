-- new_id() → uuid
--
-- A UUIDv7 for jobs enqueued from SQL. The time prefix keeps the primary key's inserts at the right edge of its index
-- and lets old jobs be purged by key range. (PostgreSQL 18 has uuidv7(); 15 to 17 do not.)
create or replace function fencepost.new_id() returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1),
    'hex')::uuid
$$;

-- secret_nonce() → bigint
--
-- For a fence that leaves this system, in a receipt handle: random() is no secret to whoever has seen enough of it.
create or replace function fencepost.secret_nonce() returns bigint
language sql volatile parallel safe
as $$
  select ('x' || right(gen_random_uuid()::text, 12))::bit(48)::bigint
$$;
