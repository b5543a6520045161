-- claim(queue, limit, worker, tasks, turn, again, start, suspects, visible_ms, tries_max, told, paused)
--   → (job_id, lease_id, nonce, task, payload, queue, priority, tries, failures, losses, releases, failures_max,
--      claimed_at, expires_at, lease_ms, created_at, started, policy, seq, dead_from, first_claimed_at, told, taken)
--
-- Move: ready → leased, for at most `limit` jobs of the queue, by priority (smaller first) and then by seq: see pick().
-- `tasks` are the ones this worker can run (null: all); jobs of other tasks stay for a worker that knows them.
-- The fence of a lease is (job_id, lease_id, nonce). The nonce keeps a fence apart from one that a sequence hands out
-- again after a failover to a replica that was behind.
-- The first `start` leases are born started: their handlers run as soon as the answer is read. So are, if `suspects` is
-- told, those of jobs that had a lease before: what a first try may do, begin and be marked a moment later, could otherwise
-- let a job that kills its worker at once go uncounted for ever.
-- `suspects`: a job with losses may have killed its worker, and is to run without neighbours. That many of them are
-- taken on top of `limit`, never started at birth, and none among the others. Null: make no difference.
-- Of a group with a limit per process a worker gets only what it has room for.
-- What is paused is not claimed. Nor is, with `tries_max`, a job that was claimed that often.
-- Nothing starves behind what is more urgent: one turn in 17, and each that asks for a hundred jobs, takes, first of all,
-- the job that was enqueued first. (A prime: a worker asks its queues in turn, and whose turn it is must not depend on
-- their number. Not for messages: their ranks are turns already, and there may be thousands of them.)
-- `visible_ms`: the lease lasts that long and has no heartbeat, and a nonce of its own that nobody can guess (sqs_receive).
-- Only then `first_claimed_at` is looked up; otherwise it is null.
-- `told`: the number of the queue in a turn. The lease is then answered as the one text that the turn tells of it, and in no
-- other column: twenty columns of a row would be put together and taken apart once more for each lease. The turn has the lock
-- on its name already, and is told by a setting (`fencepost_claim.unseen_ms`) if too little was found and it has to look again.
-- `paused`: whether anything is, if the caller has looked; otherwise it is looked for.
-- (worker, turn) names the call: repeated with `again` after a lost reply it waits for the first try and answers the
-- leases that one took.
-- Locks: an advisory lock on (worker, turn), then rows of `ready`, skipping those another claim has locked.
create or replace function fencepost.claim(
  p_queue text, p_limit integer, p_worker text, p_tasks text[] default null, p_turn bigint default null,
  p_again boolean default false, p_start integer default 0, p_suspects integer default null,
  p_visible_ms integer default null, p_tries_max integer default null, p_told integer default null,
  p_paused boolean default true
) returns setof fencepost.claimed
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off -- guard: claim.in_order (before statistics are made, all that is ready was read and sorted)
as $$
declare
  v_tasks text[] := p_tasks;
  v_paused text[];
  v_picked record;
  v_rank_last smallint := 32767; -- the last that is born started
  v_seq_last bigint := 9223372036854775807;
  v_now timestamptz;
  -- What the leases of a claim mostly have in common, and how a turn is told of that.
  v_task text;
  v_lease_ms integer;
  v_failures_max smallint;
  v_losses_max smallint;
  v_head text;
  v_fence text;
  v_started text;
  v_unstarted text;
  v_nonce bigint := floor(random() * 9007199254740991); -- guard: claim.nonce (it fits a JavaScript number)
begin
  if current_setting('synchronous_commit') = 'off' then -- guard: claim.durable
    perform fencepost.durable();
  end if;
  if p_turn is not null then
    if p_told is null then
      perform pg_advisory_xact_lock(hashtext('fencepost.claim'), hashtext(p_worker || '/' || p_turn)); -- guard: claim.turn
    end if;
    if p_again then -- guard: claim.again
      return query
        select l.job_id, l.lease_id, l.nonce, l.task, j.payload, l.queue, l.priority, l.tries, l.failures, l.losses,
               l.releases, l.failures_max, l.claimed_at, l.expires_at, l.lease_ms, j.created_at,
               l.started_at is not null, j.policy, l.seq, j.dead_from,
               case when l.visible_at is not null then coalesce((
                 select min(a.claimed_at) from fencepost.attempt a where l.tries > 1 and a.job_id = l.job_id), l.claimed_at) end,
               case when p_told is not null then fencepost.told_lease(
                 fencepost.told_head(p_told), l.job_id, l.lease_id,
                 fencepost.told_fence(l.nonce, array_position(p_tasks, l.task), l.task), j.payload,
                 floor(date_part('epoch', j.created_at) * 1000)::bigint,
                 fencepost.told_terms(
                   l.lease_ms, (date_part('epoch', l.expires_at - fencepost.clock()) * 1000)::integer, -- guard: claim.left
                   l.failures_max, l.started_at is not null, l.priority, l.tries, l.failures, l.losses, l.releases,
                   j.policy)) end,
               1
        from fencepost.leased l
        join fencepost.job j on j.id = l.job_id
        where l.worker = p_worker and l.turn = p_turn and l.queue = p_queue
        order by l.priority, l.seq;
      if found then
        return;
      end if;
    end if;
  end if;
  if p_limit = 0 then
    return;
  end if;

  if p_paused then
    select array_agg(g.key) into v_paused from fencepost.gate g where g.paused_at is not null;
  end if;
  if v_paused is not null then
    if 'pause:queue:' || p_queue = any (v_paused) then -- guard: claim.paused_queue
      return;
    end if;
    select array_agg(t) into v_tasks
    from (
      select t from unnest(p_tasks) as t
      union
      select r.task from fencepost.ready r where p_tasks is null and r.queue = p_queue
    ) k(t)
    where 'pause:task:' || t <> all (v_paused); -- guard: claim.paused_task
    if v_tasks is null then
      return;
    end if;
  end if;

  v_picked := fencepost.pick(
    p_queue, p_limit, p_worker, v_tasks, p_turn, p_suspects, p_tries_max,
    p_turn is not null and p_visible_ms is null, p_told is not null); -- guard: claim.aged
  if v_picked.unseen_ms is not null then
    -- By a setting of this transaction: a row of the answer would be counted among the leases.
    perform set_config('fencepost_claim.unseen_ms', v_picked.unseen_ms::text, true); -- guard: claim.unseen
  end if;
  if v_picked.rows = '{}' then
    return;
  end if;
  if p_start < cardinality(v_picked.rows) then
    if p_start > (v_picked.aged is not null)::integer then
      select q.priority, q.seq into v_rank_last, v_seq_last
      from fencepost.ready q where q.ctid = v_picked.rows[p_start];
    else
      v_rank_last := -32768;
      v_seq_last := -1;
    end if;
  end if;
  if p_told is not null then
    v_head := fencepost.told_head(p_told);
    if cardinality(v_picked.rows) >= 20 then -- for fewer, to look would cost more than it saves
      select q.task, q.failures_max, q.losses_max, j.lease_ms into v_task, v_failures_max, v_losses_max, v_lease_ms
      from fencepost.ready q
      cross join lateral (select k.lease_ms from fencepost.job k where k.id = q.job_id offset 0) j
      where q.ctid = v_picked.rows[1];
      v_fence := fencepost.told_fence(v_nonce, array_position(p_tasks, v_task), v_task);
      v_started := fencepost.told_terms(
        v_lease_ms, v_lease_ms, v_failures_max, true, 0::smallint, 1, 0::smallint, 0::smallint, 0, null);
      v_unstarted := fencepost.told_terms(
        v_lease_ms, v_lease_ms, v_failures_max, false, 0::smallint, 1, 0::smallint, 0::smallint, 0, null);
    end if;
  end if;
  v_now := fencepost.clock(); -- guard: claim.clock (after the last wait)
  return query
    with taken as (
      -- By ctid array: joining on ctid made the planner hash the whole table (30 ms a call instead of 2).
      delete from fencepost.ready r -- guard: claim.move
      where r.ctid = any (v_picked.rows)
      returning r.job_id, r.seq, r.gates, r.held, r.local_limit,
                -- What is as it usually is is not carried from part to part of this: each column is put together three times.
                case when r.task = v_task -- guard: claim.usual_task
                      and r.failures_max = v_failures_max -- guard: claim.usual_budget
                      and r.losses_max = v_losses_max -- guard: claim.usual_losses
                      and r.priority = 0 -- guard: claim.usual_priority
                      and r.tries + r.releases + r.failures + r.losses = 0 -- guard: claim.usual_tries
                     then null else r end as odd
    ), leases as materialized ( -- it is read in the order in which it was made
      select nextval('fencepost.lease_seq') as lease_id,
             case when p_visible_ms is null then v_nonce else fencepost.secret_nonce() end as nonce, -- guard: claim.secret
             t.job_id, t.seq, t.gates, t.held, t.local_limit, t.odd,
             ((coalesce((t.odd).priority, 0), t.seq) <= (v_rank_last, v_seq_last) or t.seq is not distinct from v_picked.aged and p_start > 0 -- guard: claim.aged_first
                or p_suspects is not null -- guard: claim.again_started
                  and coalesce((t.odd).tries, 0) > 0) -- guard: claim.ahead_known (null would be left out of the text)
               and (p_suspects is null or coalesce((t.odd).losses, 0) = 0) -- guard: claim.suspect_unstarted
               as started,
             coalesce(p_visible_ms, j.lease_ms) as lease_ms,
             j.payload, j.policy, j.created_at, j.gates as asked_gates, j.dead_from
      from (
        -- Before the payloads are there: they need not be sorted.
        select * from taken t
        order by t.seq is not distinct from v_picked.aged desc, coalesce((t.odd).priority, 0), t.seq -- guard: claim.answer_order (the delete answers in heap order)
      ) t
      -- One lookup each, whatever the statistics say: `job` once analyzed while it was empty, a join read all of it. And only
      -- what is needed: each column is taken out of the row and put into the next one.
      cross join lateral (
        select k.lease_ms, k.payload, k.policy, k.created_at, k.gates, k.dead_from
        from fencepost.job k where k.id = t.job_id offset 0
      ) j
    ), lease as not materialized (
      select l.*, coalesce((l.odd).tries, 0) + 1 as tries, coalesce((l.odd).releases, 0) as releases,
             coalesce((l.odd).priority, 0::smallint) as priority, coalesce((l.odd).failures, 0::smallint) as failures,
             coalesce((l.odd).losses, 0::smallint) as losses, coalesce((l.odd).task, v_task) as task,
             coalesce((l.odd).failures_max, v_failures_max) as failures_max,
             coalesce((l.odd).losses_max, v_losses_max) as losses_max
      from leases l
    ), put as (
      insert into fencepost.leased
        (lease_id, nonce, job_id, seq, claimed_at, expires_at, started_at, turn, lease_ms, tries, releases, priority,
         failures, losses, failures_max, losses_max, queue, task, worker, gates, held, local_limit, overrun_at,
         visible_at)
      select l.lease_id, l.nonce, l.job_id, l.seq, v_now, v_now + l.lease_ms * interval '1 ms',
             case when l.started then v_now end, p_turn,
             l.lease_ms, l.tries, l.releases, l.priority, l.failures, l.losses, l.failures_max, l.losses_max, p_queue,
             l.task, p_worker, l.gates, l.held, l.local_limit,
             case when (l.started or p_told is null) and l.asked_gates @? '$[*].overrunMs' then -- guard: claim.overrun_started
               v_now + fencepost.overrun_ms(l.asked_gates) * interval '1 ms' end,
             v_now + p_visible_ms * interval '1 ms'
      from lease l
    )
    select l.job_id, l.lease_id, l.nonce, l.task, l.payload, p_queue, l.priority, l.tries, l.failures, l.losses,
           l.releases, l.failures_max, v_now, v_now + l.lease_ms * interval '1 ms', l.lease_ms, l.created_at, l.started,
           l.policy, l.seq, l.dead_from,
           case when p_visible_ms is null then null
                when l.tries = 1 then v_now
                else coalesce(fencepost.first_claimed_at(l.job_id), v_now) end,
           null, 1
    from lease l
    where p_told is null
    union all
    select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
           null, null, t.told, 1
    from (
      select l.lease_id,
             case
               when l.odd is null
                 and l.lease_ms = v_lease_ms -- guard: claim.usual_lease
                 and l.policy is null -- guard: claim.usual_policy
               then fencepost.told_lease(
                 v_head, l.job_id, l.lease_id, v_fence, l.payload, floor(date_part('epoch', l.created_at) * 1000)::bigint,
                 case when l.started then v_started else v_unstarted end)
               else fencepost.told_lease(
                 v_head, l.job_id, l.lease_id, fencepost.told_fence(l.nonce, array_position(p_tasks, l.task), l.task),
                 l.payload, floor(date_part('epoch', l.created_at) * 1000)::bigint,
                 fencepost.told_terms(l.lease_ms, l.lease_ms, l.failures_max, l.started, l.priority, l.tries, l.failures,
                                      l.losses, l.releases, l.policy))
             end as told
      from lease l
      where p_told is not null
      offset 0 -- each is made once
    ) t;
end $$;

-- claim_many(…): the same, but many of the texts that a turn is told are one, with commas between them, and `taken` tells how
-- many: a row for each is as much work as to look up its job. For a few jobs, to put them together is more work than that. No text
-- has more than half a megabyte: hundreds of large payloads are more than a value can hold. In any order: leases are to run in
-- that of their numbers.
do $$ begin
  execute replace(replace(replace(pg_get_functiondef('fencepost.claim'::regproc), '.claim(', '.claim_many('),
    't.told, 1', 'string_agg(t.told, '',''), count(*)::integer'),
    ') t;', ') t
    group by case when octet_length(t.told) <= 8192 then t.lease_id / 64 else -t.lease_id end -- guard: claim.joined_bytes
    ;');
end $$;

-- first_claimed_at(job) → when the first of its leases that have ended began
create or replace function fencepost.first_claimed_at(p_job uuid) returns timestamptz
language sql stable
as $$ select min(a.claimed_at) from fencepost.attempt a where a.job_id = p_job $$;

-- told_lease(head, job, lease, fence, payload, created_ms, terms) → what a turn tells of a lease; the parts that most leases of
-- a claim have in common are made once (the order of all is told in turn.sql):
create or replace function fencepost.told_lease(
  p_head text, p_job uuid, p_lease bigint, p_fence text, p_payload jsonb, p_created_ms bigint, p_terms text
) returns text
language sql stable
as $$
  select concat(p_head, p_job, '",', p_lease, p_fence, p_payload, ',', p_created_ms, p_terms)
$$;

-- … for the `queue`th queue of the turn
create or replace function fencepost.told_head(p_queue integer) returns text
language sql stable
as $$ select '["lease",' || p_queue || ',"' $$;

-- … of the `known`th of its tasks
create or replace function fencepost.told_fence(p_nonce bigint, p_known integer, p_task text) returns text
language sql stable
as $$ select concat(',', p_nonce, ',', coalesce(p_known::text, to_json(p_task)::text), ',') $$; -- guard: claim.known_task

create or replace function fencepost.told_terms(
  p_lease_ms integer, p_left_ms integer, p_failures_max smallint, p_started boolean, p_priority smallint, p_tries integer,
  p_failures smallint, p_losses smallint, p_releases integer, p_policy jsonb
) returns text
language sql stable
as $$
  select concat(',', concat_ws(',', p_lease_ms, p_left_ms, p_failures_max, p_started::integer,
    case when p_priority <> 0 or p_tries > 1 or p_policy is not null then -- counters begin with a second try
      concat_ws(',', p_priority, p_tries, p_failures, p_losses, p_releases, coalesce(p_policy::text, 'null')) end), ']')
$$;
