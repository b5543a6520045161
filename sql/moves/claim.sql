-- claim(queue, limit, worker, tasks, turn, again, start, suspects, visible_ms, tries_max)
--   → (job_id, lease_id, nonce, task, payload, queue, priority, tries, failures, losses, releases, failures_max,
--      claimed_at, expires_at, lease_ms, created_at, started, policy, seq, dead_from, first_claimed_at)
--
-- Move: ready → leased, for at most `limit` jobs of the queue, by priority (smaller first) and then by seq.
-- `tasks` are the ones this worker can run (null: all); jobs of other tasks stay for a worker that knows them.
-- The fence of a lease is (job_id, lease_id, nonce). The nonce keeps a fence apart from one that a sequence hands out
-- again after a failover to a replica that was behind.
-- The first `start` leases (without `suspects`: all or none) are born started: their handlers run as soon as the answer is read. So are, if any is, those
-- of jobs that had a lease before: what a first try may do, begin and be marked a moment later, could otherwise let a job
-- that kills its worker at once go uncounted for ever.
-- `suspects`: a job with losses may have killed its worker, and is to run without neighbours. That many of them are
-- taken on top of `limit`, never started at birth, and none among the others. Null: make no difference.
-- A job behind a gate is taken only for a free handler, never ahead: it would hold its slots in a worker's line. (Not so if
-- `suspects` is null.)
-- Of a group with a limit per process a worker gets only what it has room for.
-- What is paused is not claimed. Nor is, with `tries_max`, a job that was claimed that often.
-- Nothing starves behind what is more urgent: one turn in 17, and each that asks for a hundred jobs, takes, first of all,
-- the job that was enqueued first. (A prime: a worker asks its queues in turn, and whose turn it is must not depend on
-- their number.)
-- Rows that were claimed and that some old snapshot still sees lie before those that can be claimed, and each claim would
-- pass over all of them. Once that costs more than a few blocks, the session remembers how far it has come in each
-- priority (a setting, `fencepost_claim.marks`), and begins there. What has come back to an earlier place meanwhile is
-- found by the next look from the beginning: when there is nothing beyond the marks, and otherwise after 40 times
-- what that look costs.
-- `visible_ms`: the lease lasts that long and has no heartbeat, and a nonce of its own that nobody can guess (sqs_receive).
-- Only then `first_claimed_at` is looked up; otherwise it is null.
-- (worker, turn) names the call: repeated with `again` after a lost reply it waits for the first try and answers the
-- leases that one took.
-- Locks: an advisory lock on (worker, turn), then rows of `ready`, skipping those another claim has locked.
create or replace function fencepost.claim(
  p_queue text, p_limit integer, p_worker text, p_tasks text[] default null, p_turn bigint default null,
  p_again boolean default false, p_start integer default 0, p_suspects integer default null,
  p_visible_ms integer default null, p_tries_max integer default null
) returns table (
  job_id uuid, lease_id bigint, nonce bigint, task text, payload jsonb, queue text, priority smallint, tries integer,
  failures smallint, losses smallint, releases integer, failures_max smallint, claimed_at timestamptz,
  expires_at timestamptz, lease_ms integer, created_at timestamptz, started boolean, policy jsonb, seq bigint,
  dead_from text, first_claimed_at timestamptz
)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off -- guard: claim.in_order (before statistics are made, all that is ready was read and sorted)
as $$
#variable_conflict use_column
declare
  v_tasks text[] := p_tasks;
  v_paused text[];
  v_free integer := case when p_suspects is null then p_limit else least(p_start, p_limit) end; -- of free handlers
  v_rows tid[] := '{}';
  v_alone tid[] := '{}'; -- suspects
  v_more tid[];
  v_grouped boolean;
  v_gated boolean;
  v_plain boolean;
  v_ahead integer;
  v_taken integer := 0; -- of v_rows, for free handlers
  v_last tid; -- the last of these
  v_rank_last smallint;
  v_seq_last bigint;
  v_rank_until smallint;
  v_seq_until bigint;
  v_local boolean := true;
  v_full text[] := '{}';
  v_over text[];
  v_marks jsonb := nullif(current_setting('fencepost_claim.marks', true), '')::jsonb;
  v_mark jsonb;
  v_ranks smallint[] := '{}';
  v_seqs bigint[] := '{}';
  v_rank smallint;
  v_seq bigint;
  v_below integer; -- one more than the last priority
  v_begun timestamptz;
  v_blocks bigint;
  v_pages bigint;
  v_far boolean;
  v_rank_first smallint; -- where the first of all is, if it was looked for
  v_seq_first bigint;
  v_aged bigint;
  v_passed bigint[];
  v_first fencepost.ready;
  v_suspects boolean;
  v_now timestamptz;
  v_nonce bigint := floor(random() * 9007199254740991); -- guard: claim.nonce (it fits a JavaScript number)
begin
  perform fencepost.durable(); -- guard: claim.durable
  if p_turn is not null then
    perform pg_advisory_xact_lock(hashtext('fencepost.claim'), hashtext(p_worker || '/' || p_turn)); -- guard: claim.turn
    if p_again then -- guard: claim.again
      return query
        select l.job_id, l.lease_id, l.nonce, l.task, j.payload, l.queue, l.priority, l.tries, l.failures, l.losses,
               l.releases, l.failures_max, l.claimed_at, l.expires_at, l.lease_ms, j.created_at,
               l.started_at is not null, j.policy, l.seq, j.dead_from,
               case when l.visible_at is not null then coalesce((
                 select min(a.claimed_at) from fencepost.attempt a where l.tries > 1 and a.job_id = l.job_id), l.claimed_at) end
        from fencepost.leased l
        join fencepost.job j on j.id = l.job_id
        where l.worker = p_worker and l.turn = p_turn and l.queue = p_queue
        order by l.priority, l.seq;
      if found then
        return;
      end if;
    end if;
  end if;

  select array_agg(g.key) into v_paused from fencepost.gate g where g.paused_at is not null;
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

  if v_marks is not null then
    v_mark := v_marks -> fencepost.claim_key(p_queue, v_tasks);
    -- Not if the clock was set back: it could be hours.
    if to_timestamp((v_mark ->> 'until')::double precision) - fencepost.clock() between interval '0' and interval '2 s' then -- guard: claim.marks
      select array_agg(m.rank), array_agg(m.seq) into v_ranks, v_seqs
      from jsonb_to_recordset(v_mark -> 'marks') as m(rank smallint, seq bigint);
    end if;
  end if;

  loop
    v_begun := fencepost.clock();
    v_pages := pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass);
    v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass) + v_pages;
    v_rank_first := -32768;
    v_seq_first := 0;
    -- (Not for messages: their ranks are turns already, and there may be thousands of them.)
    if v_ranks = '{}' and p_limit > 0 and p_visible_ms is null
      and (p_turn % 17 = 0 or p_turn is not null and ( -- guard: claim.aged
        p_limit >= 100 -- guard: claim.aged_many
        or v_mark is not null))
    then
      -- Once past the dead rows at the head: what follows begins behind them, or each part would pass over them again.
      select q.priority, q.seq into v_rank_first, v_seq_first
      from fencepost.ready q where q.queue = p_queue order by q.priority, q.seq limit 1;
      if not found then
        v_rank_first := 32767;
        v_seq_first := 9223372036854775807;
      end if;
      v_passed := '{}';
      loop
        -- The first of each priority, and of these the oldest; the next one if another claim is about to take it.
        with recursive ranks as (
          select v_rank_first as rank
          union all
          select (select q.priority from fencepost.ready q where q.queue = p_queue and q.priority > k.rank
                  order by q.priority limit 1)
          from ranks k
          where k.rank is not null
        )
        select h.* into v_first
        from ranks k
        cross join lateral (
          select *
          from (
            select *
            from fencepost.ready f
            where f.queue = p_queue and f.priority = k.rank
              and f.seq >= case when k.rank = v_rank_first then v_seq_first else 0 end -- guard: claim.aged_head
            order by f.seq
            -- Not all of thousands that it may not take, in every turn.
            limit case when p_turn % 17 <> 0 and v_mark is null then 100 end -- guard: claim.aged_few
          ) q
          where (v_tasks is null or q.task = any (v_tasks)) -- guard: claim.aged_tasks
            and (p_suspects is null or q.losses = 0) -- guard: claim.aged_suspects
            and (p_tries_max is null or q.tries < p_tries_max)
            and q.local_limit is null -- guard: claim.aged_group
            and (v_free > 0 or q.gates is null) -- guard: claim.aged_not_ahead
            and q.seq <> all (v_passed)
          order by q.seq
          limit 1
        ) h
        order by h.seq
        limit 1;
        exit when not found or cardinality(v_passed) = 20;
        v_rows := array(
          select q.ctid
          from fencepost.ready q
          where q.queue = p_queue and q.priority = v_first.priority and q.seq = v_first.seq
          for update skip locked); -- guard: claim.aged_skip_locked
        exit when v_rows <> '{}';
        v_passed := v_passed || v_first.seq;
      end loop;
      if v_rows <> '{}' then
        v_aged := v_first.seq;
        v_gated := v_first.gates is not null;
        v_plain := not v_gated;
      end if;
    end if;

    -- First suspects, who would otherwise find no room left for their group; then between one priority's mark and the next
    -- priority that has one.
    for v_range in -1 .. cardinality(v_ranks) loop
      v_suspects := v_range < 0; -- guard: claim.suspects_first
      continue when case when v_suspects then coalesce(p_suspects, 0) = 0 or v_alone <> '{}'
                         else cardinality(v_rows) >= v_free end;
      v_rank := coalesce(v_ranks[v_range], v_rank_first);
      v_seq := coalesce(v_seqs[v_range], v_seq_first); -- guard: claim.head
      v_below := coalesce(v_ranks[v_range + 1]::integer, 32768); -- guard: claim.last_priority
      -- By ctid array: joining on ctid made the planner hash the whole table (30 ms a call instead of 2).
      loop
        if not v_suspects then
          select coalesce(array_agg(p.ctid), '{}'), bool_or(p.local_limit is not null),
                 coalesce(v_gated, false) or bool_or(p.gates is not null), v_plain or bool_or(p.gates is null)
          into v_more, v_grouped, v_gated, v_plain
          from (
            select q.ctid, q.local_limit, q.gates
            from fencepost.ready q
            where q.queue = p_queue
              and (v_tasks is null or q.task = any (v_tasks)) -- guard: claim.tasks
              and (p_suspects is null or q.losses = 0) -- guard: claim.suspects_apart
              and (p_tries_max is null or q.tries < p_tries_max) -- guard: claim.tries_max
              and (q.local_limit is null or v_local and q.gates[cardinality(q.gates)] <> all (v_full))
              and (v_rows = '{}' or q.ctid <> all (v_rows))
              and (q.priority, q.seq) >= (v_rank, v_seq) and q.priority < v_below
            order by q.priority, q.seq -- guard: claim.order
            limit v_free - cardinality(v_rows)
            for update skip locked -- guard: claim.skip_locked
          ) p;
        else
          select coalesce(array_agg(p.ctid), '{}'), bool_or(p.local_limit is not null) into v_more, v_grouped
          from (
            select q.ctid, q.local_limit
            from fencepost.ready q
            where q.queue = p_queue
              and q.losses > 0 -- guard: claim.suspect_tasks
              and (v_tasks is null or q.task = any (v_tasks))
              and (q.local_limit is null or v_local and q.gates[cardinality(q.gates)] <> all (v_full))
            order by q.priority, q.seq
            limit p_suspects
            for update skip locked -- guard: claim.suspect_skip_locked
          ) p;
        end if;

        if v_grouped then
          -- Another claim of this process, on its way, would not be counted: then no job of such a group.
          if not pg_try_advisory_xact_lock(hashtext('fencepost.local'), hashtext(p_worker)) then -- guard: claim.one_at_a_time
            v_local := false;
            continue;
          end if;
          select coalesce(array_agg(f.ctid order by f.priority, f.seq) filter (where f.n <= f.local_limit), '{}'),
                 coalesce(array_agg(distinct f.key) filter (where f.n > f.local_limit), '{}')
          into v_more, v_over
          from (
            select q.ctid, q.priority, q.seq, q.gates[cardinality(q.gates)] as key,
                   coalesce(q.local_limit, 32767) as local_limit,
                   case when q.local_limit is null then 0 else
                     row_number() over (partition by q.local_limit is null, q.gates[cardinality(q.gates)]
                                        order by q.priority, q.seq)
                     + coalesce(r.n, 0) end as n -- guard: claim.local_limit
            from fencepost.ready q
            left join (
              select h.gates[cardinality(h.gates)] as key, count(*) as n
              from (
                select l.gates from fencepost.leased l where l.worker = p_worker and l.local_limit is not null
                union all
                select a.gates from fencepost.ready a where a.ctid = any (v_rows || v_alone) and a.local_limit is not null
              ) h
              group by 1
            ) r on r.key = q.gates[cardinality(q.gates)]
            where q.ctid = any (v_more)
          ) f;
          v_full := v_full || v_over;
        end if;
        if v_suspects then
          v_alone := v_alone || v_more;
        elsif v_more <> '{}' then
          v_rows := v_rows || v_more;
          v_last := v_more[cardinality(v_more)];
          if v_grouped then -- what is looked for again lies behind: v_last is the last
            select q.priority, q.seq + 1 into v_rank, v_seq from fencepost.ready q where q.ctid = v_last;
          end if;
        end if;
        exit when not coalesce(v_grouped, false) or v_over = '{}'
          or case when v_suspects then v_more <> '{}' else cardinality(v_rows) >= v_free end;
      end loop;
    end loop;

    v_taken := cardinality(v_rows);
    -- Ahead of free handlers, behind what was taken for these. If there was not enough for them, there is nothing more.
    -- Where there are gated jobs, there may be many: what comes behind the first few is not looked for.
    v_ahead := case when v_taken >= v_free and (v_plain or v_taken < 20) then p_limit - greatest(v_free, v_taken) else 0 end;
    if v_ahead > 0 then
      select q.priority, q.seq into v_rank_last, v_seq_last from fencepost.ready q where q.ctid = v_last;
      if not found then
        v_rank_last := -32768;
        v_seq_last := -1;
      end if;
      if v_gated then
        select n.priority, n.seq into v_rank_until, v_seq_until
        from fencepost.ready n
        where n.queue = p_queue and (n.priority, n.seq) > (v_rank_last, v_seq_last)
        order by n.priority, n.seq
        offset least(p_limit, v_free + 50)
        limit 1;
      end if;
    end if;
    for v_range in 0 .. cardinality(v_ranks) loop
      exit when v_ahead <= 0;
      v_rank := coalesce(v_ranks[v_range], v_rank_first);
      v_seq := coalesce(v_seqs[v_range], v_seq_first);
      v_below := coalesce(v_ranks[v_range + 1]::integer, 32768);
      if (v_rank, v_seq) <= (v_rank_last, v_seq_last) then
        v_rank := v_rank_last;
        v_seq := v_seq_last + 1;
      end if;
      v_more := array(
        select q.ctid
        from fencepost.ready q
        where q.queue = p_queue
          and (v_tasks is null or q.task = any (v_tasks)) -- guard: claim.ahead_tasks
          and q.losses = 0 -- guard: claim.ahead_suspects
          and q.gates is null -- guard: claim.not_ahead
          and (v_aged is null or q.seq <> v_aged)
          and (q.priority, q.seq) >= (v_rank, v_seq) and q.priority < v_below
          and (q.priority, q.seq) <= (coalesce(v_rank_until, 32767), coalesce(v_seq_until, 9223372036854775807))
        order by q.priority, q.seq
        limit v_ahead
        for update skip locked); -- guard: claim.ahead_skip_locked
      v_rows := v_rows || v_more;
      v_ahead := v_ahead - cardinality(v_more);
    end loop;
    exit when v_ranks = '{}' or v_rows <> '{}' or v_alone <> '{}'; -- guard: claim.from_the_beginning
    v_ranks := '{}';
    v_seqs := '{}';
  end loop;

  v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
            + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) - v_blocks;
  v_pages := pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) - v_pages;
  -- What is dead for everyone is known to be in the index, and costs pages of that only: each holds some 200 rows.
  v_far := v_ranks <> '{}' or v_blocks > 30 + 2 * cardinality(v_rows)
    or v_pages > 30 + cardinality(v_rows) / 20; -- guard: claim.far
  if v_mark is not null or v_far then
    -- Without the suspects: what lies before one of them was not looked at. And where there are gated jobs, without what was
    -- taken ahead, which has passed them; nor beyond one whose group was full.
    perform fencepost.mark_claimed(
      p_queue, v_tasks,
      case when v_full <> '{}' then '{}'
           when v_gated then v_rows[1 + (v_aged is not null)::integer : v_taken] -- guard: claim.mark_gated
           else v_rows end,
      v_far, case when v_ranks = '{}' then fencepost.clock() - v_begun end); -- guard: claim.mark_suspects
  end if;
  v_rows := v_rows || v_alone;

  if v_rows = '{}' then
    return;
  end if;
  v_now := fencepost.clock(); -- guard: claim.clock (after the last wait)
  return query
    with taken as (
      delete from fencepost.ready r -- guard: claim.move
      where r.ctid = any (v_rows)
      returning r.*
    ), leases as materialized ( -- it is read in the order in which it was made
      select nextval('fencepost.lease_seq') as lease_id,
             case when p_visible_ms is null then v_nonce else fencepost.secret_nonce() end as nonce, -- guard: claim.secret
             t.job_id, t.seq, t.tries + 1 as tries, t.releases, t.priority, t.failures, t.losses, t.failures_max,
             t.losses_max, t.queue, t.task, t.gates, t.held, t.local_limit,
             (p_start > 0 and coalesce((t.priority, t.seq) <= (v_rank_last, v_seq_last) or t.seq = v_aged, v_seq_last is null) -- guard: claim.aged_first
                or p_suspects is not null and t.tries > 0) -- guard: claim.again_started
               and (p_suspects is null or t.losses = 0) -- guard: claim.suspect_unstarted
               as started,
             coalesce(p_visible_ms, j.lease_ms) as lease_ms,
             v_now + coalesce(p_visible_ms, j.lease_ms) * interval '1 ms' as expires_at,
             j.payload, j.policy, j.created_at, j.gates as asked_gates, j.dead_from
      from (
        -- Before the payloads are there: they need not be sorted.
        select * from taken t
        order by t.seq is not distinct from v_aged desc, t.priority, t.seq -- guard: claim.answer_order (the delete answers in heap order)
      ) t
      -- One lookup each, whatever the statistics say: `job` once analyzed while it was empty, a join read all of it. And only
      -- what is needed: each column is taken out of the row and put into the next one.
      cross join lateral (
        select k.lease_ms, k.payload, k.policy, k.created_at, k.gates, k.dead_from
        from fencepost.job k where k.id = t.job_id offset 0
      ) j
    ), put as (
      insert into fencepost.leased
        (lease_id, nonce, job_id, seq, claimed_at, expires_at, started_at, turn, lease_ms, tries, releases, priority,
         failures, losses, failures_max, losses_max, queue, task, worker, gates, held, local_limit, overrun_at,
         visible_at)
      select l.lease_id, l.nonce, l.job_id, l.seq, v_now, l.expires_at, case when l.started then v_now end, p_turn,
             l.lease_ms, l.tries, l.releases, l.priority, l.failures, l.losses, l.failures_max, l.losses_max, l.queue,
             l.task, p_worker, l.gates, l.held, l.local_limit,
             case when l.asked_gates @? '$[*].overrunMs' then v_now + fencepost.overrun_ms(l.asked_gates) * interval '1 ms' end,
             v_now + p_visible_ms * interval '1 ms'
      from leases l
    )
    select l.job_id, l.lease_id, l.nonce, l.task, l.payload, l.queue, l.priority, l.tries, l.failures, l.losses,
           l.releases, l.failures_max, v_now, l.expires_at, l.lease_ms, l.created_at, l.started, l.policy, l.seq,
           l.dead_from,
           case when p_visible_ms is null then null
                when l.tries = 1 then v_now
                else coalesce(fencepost.first_claimed_at(l.job_id), v_now) end
    from leases l;
end $$;

-- first_claimed_at(job) → when the first of its leases that have ended began
create or replace function fencepost.first_claimed_at(p_job uuid) returns timestamptz
language sql stable
as $$ select min(a.claimed_at) from fencepost.attempt a where a.job_id = p_job $$;
