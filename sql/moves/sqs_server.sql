-- sqs_register(server, ledger, dead_ms) → the servers in its way, none if it is registered now
--
-- Readers ship before writers: a server that writes the ledger of sends is refused while a live one does not read it, for a
-- try that came again there would be stored twice; and the other way round. Who does not read it at all waits until the sends
-- in it can no longer be retried.
-- Locks: one server registers at a time.
create or replace function fencepost.sqs_register(p_server text, p_ledger text, p_dead_ms integer)
returns table (server text, ledger text)
language plpgsql
as $$
#variable_conflict use_column
begin
  perform fencepost.durable();
  perform pg_advisory_xact_lock(hashtext('fencepost.sqs'), 0); -- guard: sqs_server.one_at_a_time
  delete from fencepost.sqs_server s where s.seen_at < fencepost.clock() - p_dead_ms * interval '1 ms'; -- guard: sqs_server.dead
  return query
    select s.id, s.ledger from fencepost.sqs_server s
    where s.id <> p_server
      and (p_ledger = 'on' and s.ledger = 'off' or p_ledger = 'off' and s.ledger = 'on') -- guard: sqs_server.readers_first
    union all
    (select 'the ledger: sends of the last five minutes may be retried', 'on'
     from fencepost.sqs_sent t
     where p_ledger = 'off' -- guard: sqs_server.recent_sends
       and t.sent_at > fencepost.clock() - interval '5 minutes'
     limit 1);
  if not found then
    insert into fencepost.sqs_server as s (id, ledger, seen_at)
    values (p_server, p_ledger, fencepost.clock())
    on conflict (id) do update set ledger = excluded.ledger, seen_at = excluded.seen_at; -- guard: sqs_server.again
  end if;
end $$;

-- sqs_see(server) → whether it is still registered
create or replace function fencepost.sqs_see(p_server text) returns boolean
language plpgsql
as $$
begin
  update fencepost.sqs_server s set seen_at = fencepost.clock() where s.id = p_server;
  return found;
end $$;
