-- sqs_send(server, queue, keys, ids, payloads, sizes, delays_ms, ranks, groups, dedup_ids, dedup_given, fresh)
--   → (n, answer, message_id, seq, rank)
--
-- Move: ∅ → delayed or place(), by enqueue_many (enqueue_alike where nothing is special), together with a row of the ledger for each entry, if the server writes it.
-- A try that comes again finds its row there first, before anything is checked: it gets the answer that was given, and
-- nothing is touched, whatever has become of the message, and whatever limit was changed since.
-- `ranks`: of standard queues whose messages have groups, how many of its group are before it, as far as the server knows.
-- Tenants then take turns: a message is never placed before the one that is received next, and where nothing waits, the count
-- begins again; the rank that it got is answered.
-- `keys` name the entries over all tries (null: the ledger is off). `delays_ms`: null for the queue's own. `dedup_given`: the
-- sender gave the deduplication id; otherwise it is the hash of the body, which counts only if the queue says so.
-- `fresh`: the ids were made for this very call, and it is no repeat of one whose reply was lost.
-- Answers, by the number of the entry: `sent`; `recorded`; `duplicate` (FIFO: the message that was sent before); `too_large`;
--   `no_dedup_id`; or one row without a number, for all: `no_queue`, `not_registered`, `sent` (with the ids given).
-- Locks: the queue, shared, against its deletion; new keys of the ledger in order: one that a try still in flight has
--   inserted is waited for; keys of sqs_dedup in order; message groups in order; then those of enqueue_many.
create or replace function fencepost.sqs_send(
  p_server text, p_queue text, p_keys bytea[], p_ids uuid[], p_payloads jsonb[], p_sizes integer[], p_delays_ms bigint[],
  p_ranks smallint[], p_groups text[], p_dedup_ids text[], p_dedup_given boolean[],
  p_fresh boolean default false
) returns table (n integer, answer text, message_id uuid, seq bigint, rank smallint)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_ledger text;
  v_queue fencepost.sqs_queue;
  v_fifo boolean := p_queue like '%.fifo';
  v_new bytea[];
  v_answers text[] := array_fill(null::text, array[cardinality(p_ids)]);
  v_ids uuid[] := p_ids;
  v_seqs bigint[] := array_fill(null::bigint, array[cardinality(p_ids)]);
  v_send integer[];
  v_all boolean;
  v_some boolean;
  v_size_max integer;
  v_delay_ms bigint;
  v_failures smallint;
  v_first smallint;
  v_ranks smallint[] := p_ranks;
  v_delays_ms bigint[] := p_delays_ms;
  v_queues text[];
  v_budgets smallint[];
  v_losses smallint[];
  v_leases_ms integer[];
  v_found record;
begin
  perform fencepost.durable(); -- guard: sqs_send.durable
  -- A server that was taken for dead may be one that others no longer reckon with: it has to say again what it does.
  select s.ledger into v_ledger from fencepost.sqs_server s where s.id = p_server; -- guard: sqs_send.registered
  if not found then
    return query select null::integer, 'not_registered', null::uuid, null::bigint, null::smallint;
    return;
  end if;
  perform pg_advisory_xact_lock_shared(hashtext('fencepost.sqs'), hashtext(p_queue)); -- guard: sqs_send.generation
  select * into v_queue from fencepost.sqs_queue q where q.name = p_queue;
  if not found then
    return query select null::integer, 'no_queue', null::uuid, null::bigint, null::smallint;
    return;
  end if;

  if v_ledger <> 'off' then
    for v_round in 1 .. 100 loop
      with made as (
        insert into fencepost.sqs_sent (queue_id, key, message_id, sent_at)
        select v_queue.id, e.key, e.id, fencepost.clock()
        from unnest(p_keys, p_ids) as e(key, id)
        where v_new is null or e.key <> all (v_new)
        order by e.key -- guard: sqs_send.lock_order
        on conflict do nothing -- guard: sqs_send.once
        returning key
      )
      select coalesce(v_new, '{}') || coalesce(array_agg(m.key), '{}') into v_new from made m;

      exit when cardinality(v_new) = cardinality(p_keys); -- nearly always: no try has come before
      -- A statement of its own: the try that was waited for has committed after the first one's snapshot.
      for v_found in
        select e.n, s.message_id, s.seq
        from unnest(p_keys) with ordinality as e(key, n)
        join fencepost.sqs_sent s on s.queue_id = v_queue.id and s.key = e.key
        where e.key <> all (v_new)
      loop
        v_answers[v_found.n] := 'recorded';
        v_ids[v_found.n] := v_found.message_id;
        v_seqs[v_found.n] := v_found.seq;
      end loop;
      -- A row that was in the way, and is gone, was swept for its age: then the entry is a new one.
      exit when not exists (
        select 1 from unnest(p_keys, v_answers) as e(key, answer) where e.answer is null and e.key <> all (v_new));
    end loop;
  end if;

  -- By today's limits, and only now: a try in flight could have been accepted by yesterday's.
  v_size_max := v_queue.settings ->> 'maximumMessageSize';
  v_delay_ms := (v_queue.settings ->> 'delaySeconds')::bigint * 1000;
  v_failures := least(coalesce((v_queue.settings -> 'redrivePolicy' ->> 'maxReceiveCount')::integer - 1, 5), 32767);
  if not v_fifo then
    select r.priority into v_first from fencepost.ready r where r.queue = p_queue order by r.priority, r.seq limit 1;
  end if;
  -- Nearly always: all are new, and none is special.
  v_all := not v_fifo and array_remove(p_groups, null) = '{}'
    and (select max(s) from unnest(p_sizes) as s) <= v_size_max -- guard: sqs_send.all_small
    and (v_ledger = 'off' or v_ledger = 'on' -- guard: sqs_send.all_kept
      and cardinality(v_new) = cardinality(p_keys)); -- guard: sqs_send.all_new
  if v_all then
    v_first := coalesce(v_first, 0::smallint); -- guard: sqs_send.all_ranks
    if p_fresh -- guard: sqs_send.alike_fresh
      and v_delay_ms = 0 and coalesce((select max(d) from unnest(p_delays_ms) as d), 0) = 0 -- guard: sqs_send.alike_delay
    then
      perform fencepost.enqueue_alike(
        p_ids, array_to_json(p_payloads), p_queue, p_queue, v_first, v_failures, 5::smallint, 30000);
      return query select null::integer, 'sent', null::uuid, null::bigint, null::smallint;
      return;
    end if;
    if v_delay_ms <> 0 then
      v_delays_ms := array(
        select coalesce(d.ms, v_delay_ms) from unnest(p_delays_ms) with ordinality as d(ms, n) order by d.n);
    end if;
    v_queues := array_fill(p_queue, array[cardinality(p_ids)]);
    v_ranks := array_fill(v_first, array[cardinality(p_ids)]);
    v_budgets := array_fill(v_failures, array[cardinality(p_ids)]);
    v_losses := array_fill(5::smallint, array[cardinality(p_ids)]);
    v_leases_ms := array_fill(30000, array[cardinality(p_ids)]);
    if p_fresh then
      perform fencepost.enqueue_many_fresh(
        p_ids, v_queues, p_payloads, v_queues, v_ranks, v_delays_ms, v_budgets, v_losses, v_leases_ms, null, true);
    else
      perform fencepost.enqueue_many(
        p_ids, v_queues, p_payloads, v_queues, v_ranks, v_delays_ms, v_budgets, v_losses, v_leases_ms, null, true);
    end if;
    perform fencepost.sqs_tell_delay(p_queue, p_delays_ms, v_delay_ms);
    return query select null::integer, 'sent', null::uuid, null::bigint, null::smallint;
    return;
  end if;

  v_answers := array(
    select case when e.answer is not null then e.answer -- guard: sqs_send.recorded
                when e.size > v_size_max then 'too_large' -- guard: sqs_send.size
                when v_fifo and not e.given and not (v_queue.settings ->> 'contentBasedDeduplication')::boolean then 'no_dedup_id'
                else 'sent' end
    from unnest(p_sizes, p_dedup_given, v_answers) with ordinality as e(size, given, answer, n)
    order by e.n);
  v_some := 'sent' = any (v_answers);

  if v_fifo and v_some then
    v_send := fencepost.sqs_first_sends( -- guard: sqs_send.dedup
      v_queue, array(select e.n::integer from unnest(v_answers) with ordinality as e(answer, n) where e.answer = 'sent'), p_ids, p_groups,
      p_dedup_ids);
    v_some := v_send <> '{}';
    -- Sequence numbers of a group are drawn by one send at a time, until it has committed: a later one that committed first
    -- would be received first. A few locks for all groups of a queue: the server has room for only so many.
    perform pg_advisory_xact_lock(hashtext('fencepost.sqs.group'), l.lock) -- guard: sqs_send.group_order
    from (
      select distinct hashtext(p_queue || '/' || (hashtext(p_groups[i]) & 63)) as lock from unnest(v_send) as i order by 1
    ) l;
  end if;
  if v_some then
    if not v_fifo then
      v_ranks := array(
        select case when v_first is not null then greatest(v_first, e.rank) -- guard: sqs_send.rank
                    when e.grp is null then 0
                    else row_number() over (partition by e.grp order by e.n) - 1 end
        from unnest(p_ranks, p_groups) with ordinality as e(rank, grp, n)
        order by e.n);
    end if;
    perform fencepost.enqueue_many(
      array_agg(s.id), array_agg(p_queue), array_agg(s.payload), array_agg(p_queue), array_agg(s.rank),
      array_agg(coalesce(s.delay_ms, v_delay_ms)),
      array_agg(v_failures), array_agg(5::smallint), array_agg(30000), array_agg(s.gates), true)
    from (
      select e.id, e.payload, e.rank, e.delay_ms, case when v_fifo then fencepost.sqs_group_gate(p_queue, e.grp) end as gates
      from unnest(p_ids, p_payloads, v_ranks, p_delays_ms, p_groups, v_answers) with ordinality
        as e(id, payload, rank, delay_ms, grp, answer, n)
      where e.answer = 'sent' and (not v_fifo or e.n = any (v_send))
      order by e.n
    ) s;
    perform fencepost.sqs_tell_delay(p_queue, p_delays_ms, v_delay_ms);
  end if;

  if v_fifo then
    for v_found in
      select e.n, d.message_id, coalesce(j.seq, d.seq) as seq, d.message_id <> p_ids[e.n] as duplicate
      from unnest(p_groups, p_dedup_ids, v_answers) with ordinality as e(grp, dedup_id, answer, n)
      join fencepost.sqs_dedup d on d.queue_id = v_queue.id and d.scope = fencepost.sqs_dedup_scope(v_queue, e.grp)
        and d.dedup_id = e.dedup_id
      left join fencepost.job j on j.id = d.message_id
      where e.answer = 'sent'
    loop
      v_ids[v_found.n] := v_found.message_id;
      v_seqs[v_found.n] := v_found.seq;
      if v_found.duplicate then
        v_answers[v_found.n] := 'duplicate';
      end if;
    end loop;
    update fencepost.sqs_dedup d set seq = e.seq
    from unnest(v_ids, v_seqs, v_answers) as e(id, seq, answer), unnest(p_groups, p_dedup_ids, p_ids) as g(grp, dedup_id, id)
    where e.answer = 'sent' and g.id = e.id and d.queue_id = v_queue.id
      and d.scope = fencepost.sqs_dedup_scope(v_queue, g.grp) and d.dedup_id = g.dedup_id;
    update fencepost.sqs_sent s set message_id = e.id, seq = e.seq
    from unnest(p_keys, v_ids, v_seqs, v_answers) as e(key, id, seq, answer)
    where s.queue_id = v_queue.id and s.key = e.key and e.answer in ('sent', 'duplicate');
  end if;

  if v_new is not null and (v_ledger = 'read' or array['too_large', 'no_dedup_id'] && v_answers) then
    -- What was refused is judged anew by the next try. A server that only reads leaves no rows, but waited like a writer.
    delete from fencepost.sqs_sent s
    where s.queue_id = v_queue.id and s.key = any (v_new)
      and (v_ledger = 'read' or s.key = any (array( -- guard: sqs_send.refused
        select e.key from unnest(p_keys, v_answers) as e(key, answer) where e.answer in ('too_large', 'no_dedup_id'))));
  end if;
  return query
    select e.n::integer, e.answer, e.id, e.seq, e.rank
    from unnest(v_answers, v_ids, v_seqs, v_ranks) with ordinality as e(answer, id, seq, rank, n);
end $$;

-- A server that waits for messages has to know when the next one is due.
create or replace function fencepost.sqs_tell_delay(p_queue text, p_delays_ms bigint[], p_delay_ms bigint) returns void
language plpgsql
as $$
begin
  if p_delay_ms > 0 or array_remove(p_delays_ms, null) <> '{}' then
    perform pg_notify('fencepost.ready', p_queue)
    where exists (select 1 from fencepost.sleeper s where s.queue = p_queue)
      and exists (select 1 from unnest(p_delays_ms) as d where coalesce(d, p_delay_ms) > 0);
  end if;
end $$;

-- Of the entries of a FIFO queue, those that are sent for the first time in five minutes. Of two in one batch, the first.
create or replace function fencepost.sqs_first_sends(
  p_queue fencepost.sqs_queue, p_send integer[], p_ids uuid[], p_groups text[], p_dedup_ids text[]
) returns integer[]
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_first integer[];
begin
  with asked as (
    select distinct on (a.scope, a.dedup_id) a.*
    from (
      select fencepost.sqs_dedup_scope(p_queue, p_groups[i]) as scope, p_dedup_ids[i] as dedup_id, p_ids[i] as id, i
      from unnest(p_send) as i
    ) a
    order by a.scope, a.dedup_id, a.i
  ), taken as (
    insert into fencepost.sqs_dedup as d (queue_id, scope, dedup_id, message_id, sent_at)
    select p_queue.id, a.scope, a.dedup_id, a.id, fencepost.clock()
    from asked a
    order by a.scope, a.dedup_id
    on conflict (queue_id, scope, dedup_id) do update
      set message_id = excluded.message_id, sent_at = excluded.sent_at, seq = null
      where d.sent_at <= excluded.sent_at - interval '5 minutes' -- guard: sqs_send.dedup_interval
    returning message_id
  )
  select array_agg(a.i order by a.i) into v_first from asked a join taken t on t.message_id = a.id;
  return coalesce(v_first, '{}');
end $$;

create or replace function fencepost.sqs_dedup_scope(p_queue fencepost.sqs_queue, p_group text) returns text
language sql stable
as $$
  select case when p_queue.settings ->> 'deduplicationScope' = 'messageGroup' then p_group else '' end
$$;

-- A message group: a strict gate.
create or replace function fencepost.sqs_group_gate(p_queue text, p_group text) returns jsonb
language sql immutable
as $$
  select jsonb_build_array(jsonb_build_object('key', 'fifo:sqs/' || p_queue || '/' || p_group, 'limit', 1, 'onFull', 'wait'))
$$;

-- The gates of a job that moves to another queue: a message group is one of that queue. A job that no client of SQS has sent
-- may have none, or others.
create or replace function fencepost.sqs_moved_gates(p_gates jsonb, p_from text, p_to text) returns jsonb
language sql immutable
as $$
  select case when starts_with(p_gates -> 0 ->> 'key', 'fifo:sqs/' || p_from || '/')
    then fencepost.sqs_group_gate(p_to, substr(p_gates -> 0 ->> 'key', length('fifo:sqs/' || p_from || '/') + 1))
    else p_gates end
$$;
