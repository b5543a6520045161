-- enqueue_claimed(worker, turn, tasks, limit, starts, room, ids, payloads, task, queue, priority, failures_max, losses_max, lease_ms)
--   → texts
--
-- Move: ∅ → leased, for jobs that a worker's own process enqueues while it has a free handler for each. It does what
-- enqueue_alike and a turn that claims from that queue do, one after the other, and answers as the turn. Where that turn would
-- find nothing but these jobs, and nothing else to do, they are never `ready`: to claim them there takes three times as
-- long as to store them, and whoever sleeps would be notified of jobs that are gone.
-- (worker, turn) names the call as it does a turn's: repeated by turn() with `again`, that answers its leases.
-- Locks: the turn's advisory lock; the tables; the new ids in the primary key of `job`, which nobody waits for; those of
--   enqueue_alike and of a turn.
create or replace function fencepost.enqueue_claimed(
  p_worker text, p_turn bigint, p_tasks text[], p_limit integer, p_starts integer, p_room integer,
  p_ids uuid[], p_payloads json, p_task text, p_queue text, p_priority smallint, p_failures_max smallint,
  p_losses_max smallint, p_lease_ms integer
) returns setof text
language plpgsql
set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off -- guard: enqueue_claimed.ready_by_index
as $$
declare
  v_blocks bigint;
  v_others boolean;
  v_now timestamptz;
  v_nonce bigint := floor(random() * 9007199254740991); -- guard: enqueue_claimed.nonce (it fits a JavaScript number)
begin
  -- First of all: a repeat of the turn is to wait for all of this, and not only for its last part.
  perform pg_advisory_xact_lock(hashtext('fencepost.claim'), hashtext(p_worker || '/' || p_turn)); -- guard: enqueue_claimed.first_try
  -- The last wait, if somebody has locked them: what follows is decided behind it. A pause that was answered meanwhile is heeded,
  -- and no lease is born that has run out. What commits between this look and ours is missed, as by a claim; nobody else can take
  -- these jobs meanwhile.
  lock table fencepost.job, fencepost.leased in row exclusive mode; -- guard: enqueue_claimed.last_wait
  v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
            + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass);
  v_others := least(p_limit, p_starts, p_room) < cardinality(p_ids) -- guard: enqueue_claimed.handler_each
    or p_task <> all (p_tasks) -- guard: enqueue_claimed.known_task
    or nullif(current_setting('fencepost_claim.marks', true), '')::jsonb ? fencepost.claim_key(p_queue, p_tasks) -- guard: enqueue_claimed.marks
    or exists (select 1 from fencepost.ready r where r.queue = p_queue) -- guard: enqueue_claimed.in_order
    or exists (select 1 from fencepost.nudge) -- guard: enqueue_claimed.nudged
    or exists (select 1 from fencepost.call) -- guard: enqueue_claimed.called
    or exists (select 1 from fencepost.gate g where g.paused_at is not null
               and g.key in ('pause:queue:' || p_queue, 'pause:task:' || p_task)); -- guard: enqueue_claimed.paused
  -- Dead rows lie before whatever comes: a claim remembers how far that is (see pick), and to look as here does not.
  if v_others or pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
               + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) - v_blocks > 30 then -- guard: enqueue_claimed.far
    perform fencepost.enqueue_alike(
      p_ids, p_payloads, p_task, p_queue, p_priority, p_failures_max, p_losses_max, p_lease_ms);
    return query
      select * from fencepost.turn(
        p_worker, p_turn, false, p_tasks, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null, array[p_queue], array[p_limit], array[p_starts], p_room, false);
    return;
  end if;

  if current_setting('synchronous_commit') = 'off' then -- guard: enqueue_claimed.durable
    perform fencepost.durable();
  end if;
  if not fencepost.may_be_job(p_task, p_queue, p_failures_max, p_losses_max, p_lease_ms) then -- guard: enqueue_claimed.may_be_job
    perform fencepost.refuse_job();
  end if;
  v_now := fencepost.clock();
  return query
    with made as (
      insert into fencepost.job (id, seq, created_at, lease_ms, priority, failures_max, losses_max, queue, task, payload)
      select a.id, nextval('fencepost.job_seq'), v_now, p_lease_ms, p_priority, p_failures_max, p_losses_max, p_queue,
             p_task, a.payload::jsonb
      from rows from (unnest(p_ids), json_array_elements(p_payloads)) as a(id, payload)
      returning id, seq, payload
    ), leases as materialized (
      select nextval('fencepost.lease_seq') as lease_id, m.id, m.seq, m.payload from made m
    ), put as (
      insert into fencepost.leased
        (lease_id, nonce, job_id, seq, claimed_at, expires_at, started_at, turn, lease_ms, tries, releases, priority,
         failures, losses, failures_max, losses_max, queue, task, worker)
      select l.lease_id, v_nonce, l.id, l.seq, v_now, v_now + p_lease_ms * interval '1 ms', v_now, p_turn, p_lease_ms, 1,
             0, p_priority, 0, 0, p_failures_max, p_losses_max, p_queue, p_task, p_worker
      from leases l
    )
    select fencepost.told_lease(
      fencepost.told_head(1), l.id, l.lease_id, fencepost.told_fence(v_nonce, array_position(p_tasks, p_task), p_task),
      l.payload, floor(date_part('epoch', v_now) * 1000)::bigint,
      fencepost.told_terms(p_lease_ms, p_lease_ms, p_failures_max, true, p_priority, 1, 0::smallint, 0::smallint, 0, null))
    from leases l;
end $$;
