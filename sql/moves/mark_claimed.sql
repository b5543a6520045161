-- mark_claimed(queue, tasks, rows, keep, took, full)
--
-- How far a session has come with its claims in each priority of a queue: it is to begin there, and not at what some old
-- snapshot keeps. `rows`: what this claim is about to take. `keep`: whether marks are worth it; otherwise they are forgotten.
-- `took`: what a look from the beginning has just cost; the next one is due after 100 times that, and five seconds at most, unless
-- that would be more than a twentieth of the time (`until`). If there is nothing beyond the marks, after 20 times that if it found
-- nothing, 5 times if it found something (at once if it took less than 50 ms), and two seconds at most (`next`).
-- `full`: it found as much as it was to take. There may be more where that was: the next claim begins there, and not at an
-- older mark beyond it. (Null if it passed over something that another process might take.)
-- Others who look for the same need not look from the beginning meanwhile (`look`), if all that could be taken was.
-- Marks of many priorities are not kept: each is a statement of its own for every claim.
-- It is a setting of the session, and as such of no meaning to anyone else: what it hides is hidden for a moment only.
-- Locks: none that wait: the row of `look` is written by who has its advisory lock.
create or replace function fencepost.mark_claimed(
  p_queue text, p_tasks text[], p_rows tid[], p_keep boolean, p_took interval, p_full boolean
) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_all jsonb := coalesce(nullif(current_setting('fencepost_claim.marks', true), '')::jsonb, '{}');
  v_key text := fencepost.claim_key(p_queue, p_tasks);
  v_old jsonb := v_all -> v_key;
  v_marks jsonb;
  v_mark jsonb;
  v_ends tid[];
begin
  if p_keep then
    -- They come in order: if the first and the last are of one priority, so are nearly always those between, and the last
    -- tells how far it is. Otherwise a mark stays behind, which costs the next claim a few rows more.
    v_ends := array[p_rows[1], p_rows[cardinality(p_rows)]];
    if (select count(distinct q.priority) from fencepost.ready q where q.ctid = any (v_ends)) = 1 then
      p_rows := v_ends;
    end if;
    with taken as (
      select q.priority as rank, max(q.seq) as seq from fencepost.ready q where q.ctid = any (p_rows) group by q.priority
    )
    select jsonb_agg(jsonb_build_object('rank', m.rank, 'seq', m.seq) order by m.rank) into v_marks
    from (
      select k.rank, max(k.seq) as seq
      from (
        select t.rank, t.seq from taken t
        union all
        select o.rank, o.seq from jsonb_to_recordset(v_old -> 'marks') as o(rank smallint, seq bigint)
        where p_took is null or not p_full or o.rank not in (select t.rank from taken t) -- guard: mark_claimed.full
      ) k
      group by k.rank
    ) m;
  end if;
  if v_marks is null or jsonb_array_length(v_marks) > 16 then
    v_all := v_all - v_key;
  else
    v_mark := case
      when p_took is null then v_old || jsonb_build_object('marks', v_marks)
      else jsonb_build_object(
        'queue', p_queue, 'marks', v_marks,
        'until', extract(epoch from fencepost.clock() + greatest(
          interval '100 ms', least(100 * p_took, interval '5 s'), least(20 * p_took, interval '60 s'))), -- guard: mark_claimed.share
        'next', case
          when p_rows = '{}' and p_full then null -- guard: mark_claimed.oldest_alone (it took that, and looked at nothing else)
          when p_rows = '{}' or p_took > interval '50 ms' then -- guard: mark_claimed.found
            extract(epoch from fencepost.clock() + least(case when p_rows = '{}' then 20 else 5 end * p_took, interval '2 s')) end) end;
    v_all := v_all || jsonb_build_object(v_key, v_mark);
    if p_took > interval '1 ms' -- what costs less may be done by everyone
      and not p_full -- guard: mark_claimed.more (what is left may be hidden from others, and more than this session can take)
      and current_setting('transaction_isolation') = 'read committed' -- guard: mark_claimed.any_snapshot (above, the write could fail, and the claim with it)
      and pg_try_advisory_xact_lock(hashtext('fencepost.look'), fencepost.look_slot(v_key)) -- guard: mark_claimed.one_writes
    then
      insert into fencepost.look (slot, key, until, next)
      values (fencepost.look_slot(v_key), v_key, to_timestamp((v_mark ->> 'until')::double precision),
              to_timestamp((v_mark ->> 'next')::double precision))
      on conflict (slot) do update set key = excluded.key, until = excluded.until, next = excluded.next
      where look.until < excluded.until - interval '250 ms' or look.key <> excluded.key; -- an old snapshot keeps what it was, each time
    end if;
  end if;
  -- What nobody has looked for lately is forgotten.
  select jsonb_object_agg(e.key, e.value) into v_all
  from jsonb_each(v_all) e
  where (e.value ->> 'until')::double precision > extract(epoch from fencepost.clock()) - 60;
  perform set_config('fencepost_claim.marks', coalesce(v_all::text, ''), false);
end $$;

-- looked(key, mark, what) → mark
--
-- A session is due to look from the beginning (`what`: by `until` or by `next`); another may have done so meanwhile, and then this one
-- is to wait as if it had done it itself. So it is, for a moment, while another is at it; but not for more than ten seconds: that one
-- may have been stopped. Otherwise it has the lock, and looks.
-- Locks: none that wait.
create or replace function fencepost.looked(p_key text, p_mark jsonb, p_what text) returns jsonb
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now double precision := extract(epoch from fencepost.clock());
  v_mark jsonb;
begin
  select p_mark || jsonb_build_object('until', extract(epoch from k.until), 'next', extract(epoch from k.next)) into v_mark
  from fencepost.look k
  where k.slot = fencepost.look_slot(p_key)
    and k.key = p_key -- guard: mark_claimed.looked_key
    and extract(epoch from k.until) > (p_mark ->> 'until')::double precision
    and extract(epoch from k.until) <= v_now + 60; -- guard: mark_claimed.looked_ahead (the clock was set back: it could be weeks)
  v_mark := coalesce(v_mark, p_mark);
  if coalesce((v_mark ->> p_what)::double precision, 0) not between v_now and v_now + 60
    and v_now - (v_mark ->> 'until')::double precision between -60 and 10 -- guard: mark_claimed.looked_stopped
    and not pg_try_advisory_xact_lock(hashtext('fencepost.look'), fencepost.look_slot(p_key)) -- guard: mark_claimed.looked_at_once
  then
    v_mark := v_mark || jsonb_build_object('until', v_now + 0.1, 'next', v_now + 0.1);
  end if;
  return v_mark;
end $$;

create or replace function fencepost.look_slot(p_key text) returns smallint
language sql immutable
as $$ select (hashtext(p_key) & 1023)::smallint $$;

-- mark_placed(jobs)
--
-- What a session itself has put into `ready` a little before a mark of its own it is to find with its next claim: the mark goes back
-- there. Otherwise who is handed a slot, and is older than what is claimed just then, would keep that slot, unseen, until a look from the
-- beginning is due. Not over more than 20 places for each of the jobs: the claim has to pass over what is dead between.
-- Locks: none.
create or replace function fencepost.mark_placed(p_jobs fencepost.ready[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_all jsonb := current_setting('fencepost_claim.marks')::jsonb;
begin
  with placed as materialized (
    select j.queue, j.priority as rank, j.seq from unnest(p_jobs) as j
    where j.gates is null or j.held = cardinality(j.gates) -- guard: mark_claimed.placed
  )
  select jsonb_object_agg(e.key, e.value || jsonb_build_object('marks', (
    select jsonb_agg(jsonb_build_object('rank', m.rank, 'seq', coalesce(b.seq, m.seq)) order by m.rank)
    from jsonb_to_recordset(e.value -> 'marks') as m(rank smallint, seq bigint)
    cross join lateral (
      select min(p.seq) as seq
      from placed p
      where p.queue = e.value ->> 'queue' and p.rank = m.rank
        and starts_with(e.key, 'fencepost.ready'::regclass::oid || '/') -- a session may be used for several schemas
        and p.seq < m.seq -- guard: mark_claimed.placed_back
        and p.seq > m.seq - 20 * cardinality(p_jobs) -- guard: mark_claimed.placed_near
    ) b)))
  into v_all
  from jsonb_each(v_all) e;
  perform set_config('fencepost_claim.marks', v_all::text, false);
end $$;

-- claim_key(queue, tasks) → under which a session keeps the marks of claims that look for the same
create or replace function fencepost.claim_key(p_queue text, p_tasks text[]) returns text
language sql stable
as $$ select 'fencepost.ready'::regclass::oid || '/' || p_queue || '/' || coalesce(p_tasks::text, '') $$;
