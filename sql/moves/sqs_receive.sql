-- sqs_receive(queue, max, visible_ms, receiver, attempt, in_flight_max, turn, again)
--   → (answer, queue_id, job_id, lease_id, nonce, tries, seq, created_at, received_at, payload, dead_from)
--
-- Move: ready → leased, by claim, with a lease that has no heartbeat and lasts `visible_ms` (null: what the queue says). What is
-- in the way is done first: leases that have run out, what is due, gates with room, dead letters.
-- Of a FIFO queue also the followers of the messages claimed, under the same gate, in their order.
-- `attempt` names a try of a FIFO queue's receiver: repeated, it answers the same messages with the same leases, which then
-- last anew. (receiver, turn) names any other call: repeated with `again` after a lost reply, it answers what it took then.
-- Answers: `received`; or one row: `no_queue`; `over_limit` if `in_flight_max` are received and not deleted.
-- Locks: those of lose, promote, admit and claim, none of which waits; the advisory lock of the attempt, or the turn.
create or replace function fencepost.sqs_receive(
  p_queue text, p_max integer, p_visible_ms integer default null, p_receiver text default 'sqs', p_attempt text default null,
  p_in_flight_max integer default null, p_turn bigint default null, p_again boolean default false
) returns table (
  answer text, queue_id bigint, job_id uuid, lease_id bigint, nonce bigint, tries integer, seq bigint,
  created_at timestamptz, received_at timestamptz, payload jsonb, dead_from text
)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queue fencepost.sqs_queue;
  v_visible_ms integer;
  v_tries_max integer;
  v_dead text;
  v_leases bigint[];
  v_now timestamptz;
  v_receiver text;
  v_turn bigint;
  v_again boolean;
begin
  perform fencepost.durable();
  select * into v_queue from fencepost.sqs_queue q where q.name = p_queue;
  if not found then
    return query select 'no_queue', null::bigint, null::uuid, null::bigint, null::bigint, null::integer, null::bigint,
      null::timestamptz, null::timestamptz, null::jsonb, null::text;
    return;
  end if;
  v_visible_ms := coalesce(p_visible_ms, (v_queue.settings ->> 'visibilityTimeout')::integer * 1000);
  v_dead := split_part(v_queue.settings -> 'redrivePolicy' ->> 'deadLetterTargetArn', ':', 6);
  if exists (select 1 from fencepost.sqs_queue d where d.name = v_dead) then -- if there is none, messages stay
    v_tries_max := (v_queue.settings -> 'redrivePolicy' ->> 'maxReceiveCount')::integer;
  end if;

  v_now := fencepost.clock(); -- a function that is called for every row is no use for an index
  if exists (select 1 from fencepost.leased l where l.queue = p_queue and l.visible_at <= v_now) then
    perform fencepost.lose(1000, p_queue); -- guard: sqs_receive.lose
  end if;
  if exists (select 1 from fencepost.delayed d where d.due_at <= v_now) then
    perform fencepost.promote(1000); -- guard: sqs_receive.promote
  end if;
  if exists (select 1 from fencepost.nudge) then
    perform fencepost.admit(null, true, true, 20); -- guard: sqs_receive.admit
  end if;
  if v_tries_max is not null
    -- Against its deletion. If that is under way, dead letters stay where they are.
    and pg_try_advisory_xact_lock_shared(hashtext('fencepost.sqs'), hashtext(v_dead)) -- guard: sqs_receive.target
    and exists (select 1 from fencepost.sqs_queue d where d.name = v_dead)
  then
    perform fencepost.sqs_dead_letters(v_queue.name, v_dead, v_tries_max, p_max);
  end if;
  if p_in_flight_max is not null and (
    select count(*) from fencepost.leased l where l.queue = p_queue and l.visible_at is not null) >= p_in_flight_max
  then
    return query select 'over_limit', v_queue.id, null::uuid, null::bigint, null::bigint, null::integer, null::bigint,
      null::timestamptz, null::timestamptz, null::jsonb, null::text;
    return;
  end if;

  v_receiver := case when p_attempt is null then p_receiver else 'sqs/' || v_queue.id || '/' || p_attempt end;
  v_turn := case when p_attempt is null then p_turn else 0 end;
  v_again := p_again or p_attempt is not null; -- guard: sqs_receive.again
  if p_queue not like '%.fifo' then
    -- Nothing is joined to what claim answers: it may have been committed after the snapshot of this statement.
    return query
      select 'received', v_queue.id, c.job_id, c.lease_id, c.nonce, c.tries, c.seq, c.created_at, c.first_claimed_at,
             c.payload, c.dead_from
      from fencepost.claim(
        p_queue, p_max, v_receiver, p_turn => v_turn, p_again => v_again, p_visible_ms => v_visible_ms,
        p_tries_max => v_tries_max) c;
    return;
  end if;

  select array_agg(c.lease_id)
  into v_leases
  from fencepost.claim(
    p_queue, p_max, v_receiver, p_turn => v_turn, p_again => v_again, p_visible_ms => v_visible_ms,
    p_tries_max => v_tries_max) c;
  if v_leases is null then
    return;
  end if;
  -- Leases that are older than this transaction: the attempt's own, which it gets again, and nothing besides.
  if v_again and not exists (
    select 1 from fencepost.leased l where l.lease_id = any (v_leases) and l.xmin = pg_current_xact_id()::xid)
  then
    update fencepost.leased l
    set visible_at = fencepost.clock() + v_visible_ms * interval '1 ms',
        expires_at = fencepost.clock() + v_visible_ms * interval '1 ms'
    where l.lease_id = any (v_leases);
  elsif cardinality(v_leases) < p_max then -- guard: sqs_receive.same_messages
    v_leases := v_leases || fencepost.sqs_followers(
      v_leases, p_max - cardinality(v_leases), v_visible_ms, coalesce(v_tries_max, 2147483647));
  end if;
  return query
    select 'received', v_queue.id, l.job_id, l.lease_id, l.nonce, l.tries, l.seq, j.created_at,
           coalesce((select min(a.claimed_at) from fencepost.attempt a where l.tries > 1 and a.job_id = l.job_id), l.claimed_at),
           j.payload, j.dead_from
    from unnest(v_leases) as a(lease_id)
    join fencepost.leased l on l.lease_id = a.lease_id
    cross join lateral (select * from fencepost.job k where k.id = l.job_id offset 0) j
    order by l.priority, l.seq;
end $$;

-- sqs_followers(leases, max, visible_ms, tries_max) → leases
--
-- Move: waiting → leased, for the next messages of the groups whose heads were just received. They hold the same gate, which
-- then has more holders than its limit: nobody is admitted until all of them have ended or come back. One that comes back
-- waits at the gate again, at its place.
-- Locks: gates, skipping locked ones; rows of `waiting`: none that is locked is passed.
create or replace function fencepost.sqs_followers(p_leases bigint[], p_max integer, p_visible_ms integer, p_tries_max integer)
returns bigint[]
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_head fencepost.leased;
  v_next record;
  v_row fencepost.waiting;
  v_leases bigint[] := '{}';
  v_now timestamptz := fencepost.clock();
  v_taken integer;
begin
  for v_head in
    select l.* from fencepost.leased l
    where l.lease_id = any (p_leases) and cardinality(l.gates) = 1
      and starts_with(l.gates[1], 'fifo:sqs/' || l.queue || '/') -- guard: sqs_receive.follower_group (no other gate is this queue's)
    order by l.seq
  loop
    exit when cardinality(v_leases) >= p_max;
    perform 1 from fencepost.gate g
    where g.key = v_head.gates[1] and g.paused_at is null
    for update skip locked; -- guard: sqs_receive.follower_gate
    continue when not found;
    v_taken := 0;
    for v_next in
      select w.ctid as at from fencepost.waiting w
      where w.gate = v_head.gates[1] and w.rank = 0
      order by w.seq
      limit p_max - cardinality(v_leases)
    loop
      -- Nobody passes one that a cancel has locked, or that is to be a dead letter.
      select w.* into v_row from fencepost.waiting w where w.ctid = v_next.at for update skip locked; -- guard: sqs_receive.follower_order
      exit when not found or v_row.tries >= p_tries_max;
      delete from fencepost.waiting w where w.ctid = v_next.at;
      insert into fencepost.leased
        (lease_id, nonce, job_id, seq, claimed_at, expires_at, visible_at, turn, lease_ms, tries, releases, priority, failures,
         losses, failures_max, losses_max, queue, task, worker, gates, held)
      values (nextval('fencepost.lease_seq'), fencepost.secret_nonce(), v_row.job_id, v_row.seq, v_now,
              v_now + p_visible_ms * interval '1 ms', v_now + p_visible_ms * interval '1 ms', v_head.turn, p_visible_ms,
              v_row.tries + 1, v_row.releases, v_row.priority, v_row.failures, v_row.losses, v_row.failures_max,
              v_row.losses_max, v_row.queue, v_row.task, v_head.worker, v_row.gates, 1);
      v_leases := v_leases || currval('fencepost.lease_seq');
      v_taken := v_taken + 1;
    end loop;
    if v_taken > 0 then
      update fencepost.gate g set held = g.held + v_taken, held_before = g.held + v_taken -- guard: sqs_receive.follower_count
      where g.key = v_head.gates[1];
    end if;
  end loop;
  return v_leases;
end $$;

-- sqs_dead_letters(queue, target, tries_max, look)
--
-- Move: ready → place() in the dead-letter queue, for those of the first messages that were received often enough: same id,
-- same counters. The one move that changes a job: where it is found, which task it is for, and its group's gate.
-- Locks: rows of `ready`, skipping locked ones. Then those of admit().
create or replace function fencepost.sqs_dead_letters(p_queue text, p_target text, p_tries_max integer, p_look integer)
returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_ready fencepost.ready[];
  v_freed text[];
  v_calls fencepost.nudge[];
begin
  for v_round in 1 .. 100 loop
    with gone as (
      delete from fencepost.ready r
      where r.ctid = any (array(
        select q.ctid from fencepost.ready q
        where (q.queue, q.priority, q.seq) in (
            select h.queue, h.priority, h.seq from fencepost.ready h where h.queue = p_queue order by h.priority, h.seq limit p_look)
          and q.tries >= p_tries_max -- guard: sqs_receive.dead_letter_tries
        for update skip locked)) -- guard: sqs_receive.dead_letter_skip_locked
      returning r.*
    ), moved as (
      update fencepost.job j
      set queue = p_target, dead_from = p_queue,
          task = case when j.task = p_queue then p_target else j.task end,
          gates = fencepost.sqs_moved_gates(j.gates, p_queue, p_target)
      from gone g
      where j.id = g.job_id
      returning j.id, j.task, j.gates
    )
    select array_agg(row(g.job_id, g.seq, g.tries, g.releases, g.priority, g.failures, g.losses, g.failures_max, -- guard: sqs_receive.dead_letter_counters
                         g.losses_max, p_target, m.task, fencepost.gate_keys(m.gates),
                         case when m.gates is not null then 0 end, g.local_limit, false)::fencepost.ready),
           (select array_agg(k) from gone f cross join lateral unnest(f.gates[1 : f.held]) as k)
    into v_ready, v_freed
    from gone g
    join moved m on m.id = g.job_id;
    exit when v_ready is null;
    v_calls := fencepost.place(v_ready) || fencepost.hand_over(v_freed, true);
    if v_calls is not null then
      perform fencepost.admit(v_calls);
    end if;
  end loop;
end $$;
