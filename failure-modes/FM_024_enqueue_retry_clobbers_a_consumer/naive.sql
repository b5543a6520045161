-- The id is made from the token of the request, and a message that is there already is written anew: an upsert.
create or replace function fencepost.sqs_send(
  p_server text, p_queue text, p_keys bytea[], p_ids uuid[], p_payloads jsonb[], p_sizes integer[], p_delays_ms bigint[],
  p_ranks smallint[], p_groups text[], p_dedup_ids text[], p_dedup_given boolean[],
  p_fresh boolean default false
) returns table (n integer, answer text, message_id uuid, seq bigint, rank smallint)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids uuid[] := array(select substr(encode(k, 'hex'), 1, 32)::uuid from unnest(p_keys) as k);
begin
  insert into fencepost.job (id, seq, created_at, lease_ms, priority, failures_max, losses_max, queue, task, payload)
  select e.id, nextval('fencepost.job_seq'), fencepost.clock(), 30000, 0, 5, 5, p_queue, p_queue, e.payload
  from unnest(v_ids, p_payloads) as e(id, payload)
  on conflict (id) do update set queue = excluded.queue, task = excluded.task, payload = excluded.payload, dead_from = null;

  delete from fencepost.leased where job_id = any (v_ids);
  delete from fencepost.finished where job_id = any (v_ids);
  delete from fencepost.ready where job_id = any (v_ids);
  insert into fencepost.ready
  select j.id, j.seq, 0, 0, j.priority, 0, 0, j.failures_max, j.losses_max, j.queue, j.task
  from fencepost.job j where j.id = any (v_ids);
  return query
    select e.n::integer, 'sent', e.id, null::bigint, 0::smallint from unnest(v_ids) with ordinality as e(id, n);
end $$;
