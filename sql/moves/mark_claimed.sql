-- mark_claimed(queue, tasks, rows, keep, took, full)
--
-- How far a session has come with its claims in each priority of a queue: it is to begin there, and not at what some old
-- snapshot keeps. `rows`: what this claim is about to take. `keep`: whether marks are worth it; otherwise they are forgotten.
-- `took`: what a look from the beginning has just cost; the next one is due after 100 times that, and five seconds at most
-- (`until`). If it has found nothing, and there is nothing beyond the marks, after 20 times that, and two seconds at most (`next`).
-- `full`: it found as much as it was to take. There may be more where that was: the next claim begins there, and not at an
-- older mark beyond it.
-- Marks of many priorities are not kept: each is a statement of its own for every claim.
-- It is a setting of the session, and as such of no meaning to anyone else: what it hides is hidden for a moment only.
-- Locks: none.
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
    v_all := v_all || jsonb_build_object(v_key, case
      when p_took is null then v_old || jsonb_build_object('marks', v_marks)
      else jsonb_build_object(
        'queue', p_queue, 'marks', v_marks,
        'until', extract(epoch from fencepost.clock() + least(greatest(100 * p_took, interval '100 ms'), interval '5 s')),
        'next', case when p_rows = '{}' then extract(epoch from fencepost.clock() + least(20 * p_took, interval '2 s')) end) end);
  end if;
  -- What nobody has looked for lately is forgotten.
  select jsonb_object_agg(e.key, e.value) into v_all
  from jsonb_each(v_all) e
  where (e.value ->> 'until')::double precision > extract(epoch from fencepost.clock()) - 60;
  perform set_config('fencepost_claim.marks', coalesce(v_all::text, ''), false);
end $$;

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
