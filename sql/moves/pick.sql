-- pick(queue, limit, worker, tasks, turn, suspects, tries_max, aged, later) → (rows, aged, unseen_ms)
--
-- A part of claim: which rows of `ready` it is to take, in the order in which they are to run, locked. At most `limit` of
-- them, by priority (smaller first) and then by seq; behind them up to `suspects` jobs with losses, none of which is among the
-- others (null: make no difference). `tasks` are those that are not paused and that the worker knows (null: all).
-- Of a group with a limit per process only what this one has room for; `tries_max`: none that was claimed that often.
-- `aged`: first of all, the job that was enqueued first; its seq is answered, if one was taken for that.
-- Rows that were claimed and that some old snapshot still sees lie before those that can be claimed, and each claim would
-- pass over all of them. Once that costs more than a few blocks, the session remembers how far it has come in each
-- priority (a setting, `fencepost_claim.marks`), and begins there. What has come back to an earlier place meanwhile is
-- found by the next look from the beginning, of this session or of another that looks for the same: after 100 times what that look
-- costs, or as soon as there is nothing beyond the marks; unless one was made a moment ago, and the caller can come back `later`:
-- then after 20 times that, or 5 times if it found something. In so many milliseconds (`unseen_ms`) it is to do so,
-- and also if it has found less than `limit`.
-- It sets nothing: it is called by claim only, and planned under the settings of that.
-- Locks: rows of `ready`, skipping those another claim has locked.
create or replace function fencepost.pick(
  p_queue text, p_limit integer, p_worker text, p_tasks text[], p_turn bigint, p_suspects integer, p_tries_max integer,
  p_aged boolean, p_later boolean, out rows tid[], out aged bigint, out unseen_ms integer
)
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_alone tid[] := '{}'; -- suspects
  v_more tid[];
  v_grouped boolean;
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
  v_passed bigint[];
  v_first fencepost.ready;
  v_suspects boolean;
begin
  rows := '{}';
  if v_marks is not null then
    v_mark := v_marks -> fencepost.claim_key(p_queue, p_tasks);
    if to_timestamp((v_mark ->> 'until')::double precision) <= fencepost.clock() then
      v_mark := fencepost.looked(fencepost.claim_key(p_queue, p_tasks), v_mark, 'until'); -- guard: pick.looked
    end if;
    -- Not if the clock was set back: it could be hours.
    if to_timestamp((v_mark ->> 'until')::double precision) - fencepost.clock() between interval '0' and interval '60 s' then -- guard: pick.marks
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
    if p_aged and v_ranks = '{}'
      and (p_turn % 17 = 0 or p_limit >= 100 or v_mark is not null) -- guard: pick.aged_many
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
              and f.seq >= case when k.rank = v_rank_first then v_seq_first else 0 end -- guard: pick.aged_head
            order by f.seq
            -- Not all of thousands that it may not take, in every turn.
            limit case when p_turn % 17 <> 0 and v_mark is null then 100 end -- guard: pick.aged_few
          ) q
          where (p_tasks is null or q.task = any (p_tasks)) -- guard: pick.aged_tasks
            and (p_suspects is null or q.losses = 0) -- guard: pick.aged_suspects
            and (p_tries_max is null or q.tries < p_tries_max)
            and q.local_limit is null -- guard: pick.aged_group
            and q.seq <> all (v_passed)
          order by q.seq
          limit 1
        ) h
        order by h.seq
        limit 1;
        exit when not found or cardinality(v_passed) = 20;
        rows := array(
          select q.ctid
          from fencepost.ready q
          where q.queue = p_queue and q.priority = v_first.priority and q.seq = v_first.seq
          for update skip locked); -- guard: pick.aged_skip_locked
        exit when rows <> '{}';
        v_passed := v_passed || v_first.seq;
      end loop;
      if rows <> '{}' then
        aged := v_first.seq;
      end if;
    end if;

    -- First suspects, who would otherwise find no room left for their group; then between one priority's mark and the next
    -- priority that has one.
    for v_range in -1 .. cardinality(v_ranks) loop
      v_suspects := v_range < 0; -- guard: pick.suspects_first
      continue when case when v_suspects then coalesce(p_suspects, 0) = 0 or v_alone <> '{}'
                         else cardinality(rows) >= p_limit end;
      v_rank := coalesce(v_ranks[v_range], v_rank_first);
      v_seq := coalesce(v_seqs[v_range], v_seq_first); -- guard: pick.head
      v_below := coalesce(v_ranks[v_range + 1]::integer, 32768); -- guard: pick.last_priority
      loop
        if not v_suspects then
          select coalesce(array_agg(p.ctid), '{}'), bool_or(p.local_limit is not null) into v_more, v_grouped
          from (
            select q.ctid, q.local_limit
            from fencepost.ready q
            where q.queue = p_queue
              and (p_tasks is null or q.task = any (p_tasks)) -- guard: pick.tasks
              and (p_suspects is null or q.losses = 0) -- guard: pick.suspects_apart
              and (p_tries_max is null or q.tries < p_tries_max) -- guard: pick.tries_max
              and (q.local_limit is null or v_local and q.gates[cardinality(q.gates)] <> all (v_full))
              and (aged is null or q.seq <> aged)
              and (q.priority, q.seq) >= (v_rank, v_seq) and q.priority < v_below
            order by q.priority, q.seq -- guard: pick.order
            limit p_limit - cardinality(rows)
            for update skip locked -- guard: pick.skip_locked
          ) p;
        else
          select coalesce(array_agg(p.ctid), '{}'), bool_or(p.local_limit is not null) into v_more, v_grouped
          from (
            select q.ctid, q.local_limit
            from fencepost.ready q
            where q.queue = p_queue
              and q.losses > 0
              and (p_tasks is null or q.task = any (p_tasks)) -- guard: pick.suspect_tasks
              and (q.local_limit is null or v_local and q.gates[cardinality(q.gates)] <> all (v_full))
            order by q.priority, q.seq
            limit p_suspects
            for update skip locked -- guard: pick.suspect_skip_locked
          ) p;
        end if;

        if v_grouped then
          -- Another claim of this process, on its way, would not be counted: then no job of such a group.
          if not pg_try_advisory_xact_lock(hashtext('fencepost.local'), hashtext(p_worker)) then -- guard: pick.one_at_a_time
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
                     + coalesce(r.n, 0) end as n -- guard: pick.local_limit
            from fencepost.ready q
            left join (
              select h.gates[cardinality(h.gates)] as key, count(*) as n
              from (
                select l.gates from fencepost.leased l where l.worker = p_worker and l.local_limit is not null
                union all
                select a.gates from fencepost.ready a where a.ctid = any (rows || v_alone) and a.local_limit is not null
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
          rows := rows || v_more;
          if v_grouped then -- what is looked for again lies behind the last of them
            select q.priority, q.seq + 1 into v_rank, v_seq
            from fencepost.ready q where q.ctid = v_more[cardinality(v_more)];
          end if;
        end if;
        exit when not coalesce(v_grouped, false) or v_over = '{}'
          or case when v_suspects then v_more <> '{}' else cardinality(rows) >= p_limit end;
      end loop;
    end loop;
    exit when v_ranks = '{}' or rows <> '{}' or v_alone <> '{}'; -- guard: pick.from_the_beginning
    unseen_ms := ceil(1000 * ((v_mark ->> 'next')::double precision - extract(epoch from v_begun)));
    if p_later and coalesce(unseen_ms, 0) < 1 then
      v_mark := fencepost.looked(fencepost.claim_key(p_queue, p_tasks), v_mark, 'next'); -- guard: pick.looked_next
      unseen_ms := ceil(1000 * ((v_mark ->> 'next')::double precision - extract(epoch from v_begun)));
    end if;
    exit when p_later and unseen_ms between 1 and 2000; -- guard: pick.not_again (nor if the clock was set back)
    unseen_ms := null;
    v_ranks := '{}';
    v_seqs := '{}';
  end loop;

  if p_later and v_ranks <> '{}' and cardinality(rows) < p_limit and unseen_ms is null then -- guard: pick.some_unseen
    unseen_ms := greatest(1, least(2000,
      ceil(1000 * (coalesce((v_mark ->> 'next')::double precision, 0) - extract(epoch from fencepost.clock())))));
  end if;

  v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
            + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) - v_blocks;
  v_pages := pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) - v_pages;
  -- What is dead for everyone is known to be in the index, and costs pages of that only: each holds some 200 rows.
  v_far := v_ranks <> '{}' or v_blocks > 30 + 2 * cardinality(rows)
    or v_pages > 30 + cardinality(rows) / 20; -- guard: pick.far
  if (v_mark is not null or v_far) and (rows <> '{}' or v_ranks = '{}') then
    -- Without the suspects and the oldest: what lies before one of them was not looked at. Nor beyond a job of a group that
    -- was full, or that could not be counted.
    perform fencepost.mark_claimed(
      p_queue, p_tasks,
      case when v_full = '{}' -- guard: pick.mark_full
             and v_local -- guard: pick.mark_uncounted
           then rows[1 + (aged is not null)::integer :] else '{}' end, -- guard: pick.mark_aged
      v_far, case when v_ranks = '{}' then fencepost.clock() - v_begun end,
      case when v_full = '{}' and v_local then cardinality(rows) >= p_limit end); -- guard: pick.mark_over
  end if;
  rows := rows || v_alone; -- guard: pick.mark_suspects
end $$;
