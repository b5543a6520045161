-- take_waiters(keys, counts, marked) → (taken, gates)
--
-- Takes the first waiters of each gate out of `waiting`, at most `count` of each, for place(): `gates` tells at which gate each
-- of them waited. Part of hand_over and admit, which have slots for them. Jobs of a paused queue or task are sent aside on the
-- way, without a slot. At a gate that is halted, only those that have begun before, and come back after a failure or a wait.
-- What was taken before, and is still in the index or seen by some old snapshot, lies before those that wait. Once that costs
-- more than a few blocks, the session remembers where the first waiter of a gate is, and begins there (see mark_waiters),
-- if `marked`.
-- Locks: rows of `waiting`, skipping locked ones.
create or replace function fencepost.take_waiters(
  p_keys text[], p_counts integer[], p_marked boolean default true, out taken fencepost.ready[], out gates text[]
)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_marks jsonb := nullif(current_setting('fencepost_gate.marks', true), '')::jsonb;
  v_ranks smallint[];
  v_seqs bigint[];
  v_begun timestamptz := fencepost.clock();
  v_blocks bigint;
  v_far boolean;
  v_stale boolean;
  v_rest record;
  v_paused text[];
  v_found record;
  v_row fencepost.waiting;
  v_pause text;
  v_left integer;
  v_aside integer := 0;
  v_pauses text[] := '{}';
  v_calls fencepost.nudge[] := '{}';
begin
  v_paused := array(
    select p.key from fencepost.gate p where p.paused_at is not null and p.key >= 'pause:' and p.key < 'pause;');
  if v_paused = '{}' then
    if v_marks is not null and p_marked then
      select array_agg(m.rank order by k.n), array_agg(m.seq order by k.n), bool_or(k.mark is not null and m.rank is null)
      into v_ranks, v_seqs, v_stale
      from (
        select k.n, k.key, v_marks -> fencepost.gate_mark(k.key) as mark from unnest(p_keys) with ordinality as k(key, n)
      ) k
      left join lateral (
        select (k.mark ->> 'rank')::smallint as rank, (k.mark ->> 'seq')::bigint as seq
        -- Not if the clock was set back: it could be hours.
        where to_timestamp((k.mark ->> 'until')::double precision) - fencepost.clock() between interval '0' and interval '5 s' -- guard: take_waiters.marks
          and (select true from fencepost.waiting u
               where u.gate = k.key and u.rank < (k.mark ->> 'rank')::smallint limit 1) is null -- guard: take_waiters.urgent
      ) m on true;
    end if;
    v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.waiting'::regclass)
              + pg_stat_get_xact_blocks_fetched('fencepost.waiting_pkey'::regclass);
    if v_ranks is null then
      select t.* into taken, gates from fencepost.take_first(p_keys, p_counts) t;
    else
      select t.* into taken, gates from fencepost.take_behind(p_keys, p_counts, v_ranks, v_seqs) t;
    end if;

    v_blocks := pg_stat_get_xact_blocks_fetched('fencepost.waiting'::regclass)
              + pg_stat_get_xact_blocks_fetched('fencepost.waiting_pkey'::regclass) - v_blocks;
    v_far := v_blocks > 30 + 8 * cardinality(p_keys) + 4 * coalesce(cardinality(taken), 0); -- guard: take_waiters.far
    if v_far or v_stale then
      perform fencepost.mark_waiters(p_keys, v_ranks, v_seqs, v_far, fencepost.clock() - v_begun);
    end if;
    -- Nobody who waits before a mark is left out for a slot that would be closed.
    if v_ranks is not null and coalesce(cardinality(taken), 0) < (select sum(n) from unnest(p_counts) as n) then
      select array_agg(r.key) as keys, array_agg(r.n) as counts into v_rest
      from (
        select k.key, k.n - (select count(*) from unnest(gates) as g where g = k.key)::integer as n
        from unnest(p_keys, p_counts) as k(key, n)
      ) r
      where r.n > 0;
      select t.* into v_rest from fencepost.take_waiters(v_rest.keys, v_rest.counts, false) t; -- guard: take_waiters.from_the_beginning
      taken := taken || v_rest.taken;
      gates := gates || v_rest.gates;
    end if;
    return;
  end if;

  for i in 1 .. coalesce(cardinality(p_keys), 0) loop
    v_left := p_counts[i];
    -- One pass: to look for the first again after each would read those that have gone again and again.
    for v_found in
      select q.ctid as at, q as waiter from fencepost.waiting q
      where q.gate = p_keys[i]
        and (q.tries > 0 or not fencepost.halted(p_keys[i])) -- guard: take_waiters.halted_aside
        and (p_keys[i] not like 'fifo:%' -- guard: take_waiters.head_aside
          or q.seq = (select min(h.seq) from fencepost.waiting h where h.gate = p_keys[i] and h.rank = 0))
      order by q.rank, q.seq -- guard: take_waiters.order_aside
      for update skip locked -- guard: take_waiters.skip_locked_aside
    loop
      exit when v_left <= 0 or v_aside >= 1000;
      delete from fencepost.waiting w where w.ctid = v_found.at;
      v_row := v_found.waiter;
      select p into v_pause
      from unnest(v_paused) as p
      where p in ('pause:queue:' || v_row.queue, 'pause:task:' || v_row.task)
        and fencepost.may_step_aside(v_row.gates, v_row.held) -- guard: take_waiters.may_step_aside
      order by p
      limit 1;
      if v_pause is null then
        v_left := v_left - 1;
        taken := taken || fencepost.admitted(v_row);
        gates := gates || v_row.gate;
      else
        v_aside := v_aside + 1;
        v_row.gate := v_pause;
        insert into fencepost.waiting select (v_row).*;
        if v_pause <> all (v_pauses) then
          v_pauses := v_pauses || v_pause;
          v_calls := v_calls || row(v_pause, 0, null, null, v_row.seq, v_row.task)::fencepost.nudge;
        end if;
      end if;
    end loop;
  end loop;
  if v_aside > 0 then
    perform fencepost.leave_nudges(v_calls); -- guard: take_waiters.aside_nudge (whoever ends the pause may have looked before this commits)
  end if;
end $$;

-- take_first(keys, counts, ranks, seqs) → (taken, gates)
--
-- A part of take_waiters: the first waiters of each gate, where nothing is paused. It sets nothing, as pick(). `ranks` and `seqs` are
-- for take_behind.
-- Locks: rows of `waiting`, skipping locked ones.
create or replace function fencepost.take_first(
  p_keys text[], p_counts integer[], p_ranks smallint[] default null, p_seqs bigint[] default null,
  out taken fencepost.ready[], out gates text[]
)
language plpgsql
as $$
begin
  with gone as (
    delete from fencepost.waiting w
    where w.ctid = any (array(
      select q.ctid
      from unnest(p_keys, p_counts, p_ranks, p_seqs) as k(key, n, rank, seq)
      cross join lateral (
        select q.ctid from fencepost.waiting q
        where q.gate = k.key
          -- Asked here and not there: a function that is not needed is not called for each of them.
          and (q.tries > 0 or k.key not like 'gate: run/%' or not fencepost.halted(k.key)) -- guard: take_waiters.halted
          and (k.key not like 'fifo:%' -- nobody passes a head that a cancel has locked, and may leave
            or q.seq = (select min(h.seq) from fencepost.waiting h
                        where h.gate = k.key and h.rank = 0)) -- guard: take_waiters.head
        order by q.rank, q.seq -- guard: take_waiters.order
        limit k.n
        for update skip locked -- guard: take_waiters.skip_locked
      ) q))
    returning w.gate, fencepost.admitted(w) as job
  )
  select array_agg(g.job), array_agg(g.gate) into taken, gates from gone g;
end $$;

-- take_behind(keys, counts, ranks, seqs): the same, from a gate's mark on, where it has one. A function of its own: PostgreSQL reads
-- a whole page of the index for one waiter, and to compare each of its entries with where to begin took a twelfth of all that a
-- job behind a gate costs.
do $$ begin
  execute replace(replace(pg_get_functiondef('fencepost.take_first'::regproc), '.take_first(', '.take_behind('),
    'where q.gate = k.key', 'where q.gate = k.key and (q.rank, q.seq) >= (coalesce(k.rank, -32768), coalesce(k.seq, 0))');
end $$;

-- mark_waiters(keys, ranks, seqs, keep, took)
--
-- Where the first waiters of these gates are: the session is to begin there, and not at what some old snapshot keeps. `ranks`
-- and `seqs`: where it has begun just now; null: at the beginning, which `took` so long, and the next such look is due after 100
-- times that, and five seconds at most. `keep`: whether marks are worth it; otherwise they are forgotten.
-- Marks are kept of a few gates: among many, each has few dead rows. Not of strict ones, where the first is
-- looked for among all.
-- As with those of claims, a mark is a setting of the session, and what it hides is hidden for a moment only.
-- Locks: none.
create or replace function fencepost.mark_waiters(
  p_keys text[], p_ranks smallint[], p_seqs bigint[], p_keep boolean, p_took interval
) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  c_most constant integer := 16;
  v_old jsonb := coalesce(nullif(current_setting('fencepost_gate.marks', true), '')::jsonb, '{}');
  v_marks jsonb := v_old - array(select fencepost.gate_mark(k) from unnest(p_keys) as k);
begin
  if p_keep and cardinality(p_keys) <= c_most then
    select v_marks || coalesce(jsonb_object_agg(fencepost.gate_mark(k.key), jsonb_build_object(
      'rank', w.rank, 'seq', w.seq, 'until',
      case when k.rank is not null then v_old -> fencepost.gate_mark(k.key) -> 'until'
           else to_jsonb(extract(epoch from fencepost.clock() + least(
             greatest(100 * p_took, interval '100 ms'), interval '5 s'))) end)), '{}')
    into v_marks
    from unnest(p_keys, p_ranks, p_seqs) as k(key, rank, seq)
    cross join lateral (
      select q.rank, q.seq from fencepost.waiting q
      where q.gate = k.key and (q.rank, q.seq) >= (coalesce(k.rank, -32768), coalesce(k.seq, 0))
      order by q.rank, q.seq
      limit 1
    ) w
    where k.key not like 'fifo:%';
  end if;
  -- What nobody has looked for lately is forgotten.
  select jsonb_object_agg(e.key, e.value) into v_marks
  from (
    select e.* from jsonb_each(v_marks) e
    where (e.value ->> 'until')::double precision > extract(epoch from fencepost.clock()) - 60
    order by (e.value ->> 'until')::double precision desc
    limit c_most
  ) e;
  perform set_config('fencepost_gate.marks', coalesce(v_marks::text, ''), false);
end $$;

-- gate_mark(key) → under which a session keeps the mark of a gate
create or replace function fencepost.gate_mark(p_key text) returns text
language sql stable
as $$ select 'fencepost.waiting'::regclass::oid || '/' || p_key $$;
