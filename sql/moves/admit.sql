-- admit(calls, own, make, more) → whether a nudge is left
--
-- Move: waiting → ready (or → waiting at the job's next gate), for as many as the gate has room for; or → finished
-- (discarded), for jobs that do not want to wait, have never been admitted, and find the gate full.
-- `calls` are what has just become free or come to wait. A call for a gate that another transaction has locked is left
-- behind as a nudge; nudges found are calls, too: those of the gates called, and of `more` others.
-- In a transaction that the caller goes on with (not `own`), or above READ COMMITTED, all of them are left as nudges: no
-- gate is locked in it. `make`: a gate that is not there yet is made; by one call in a transaction, after everything in it
-- that can wait, and in the order of the keys, because two that make the same gate wait for one another.
-- Locks: rows of `gate`, skipping locked ones: nobody ever waits for a gate. Then rows of `waiting`, skipping.
create or replace function fencepost.admit(
  p_calls fencepost.nudge[] default null, p_own boolean default true, p_make boolean default true,
  p_more integer default 0
) returns boolean
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  c_at_once constant integer := 1000;
  v_calls fencepost.nudge[] := coalesce(p_calls, '{}');
  v_keys text[];
  v_got text[];
  v_made text collate "C" := '';
  v_gates fencepost.gate[];
  v_next fencepost.ready[];
  v_freed text[];
  v_left boolean := false;
begin
  if p_calls is null and p_more = 0 then
    return false;
  end if;
  if not p_own or current_setting('transaction_isolation') <> 'read committed' then -- guard: admit.own
    perform fencepost.leave_nudges(v_calls);
    return true;
  end if;

  for v_round in 1 .. 10 loop
    select array_agg(distinct k.key) into v_keys
    from (
      select c.key from unnest(v_calls) as c
      union all
      (select distinct n.key from fencepost.nudge n limit case when v_round = 1 then p_more else 0 end)
    ) k;
    exit when v_keys is null;
    v_got := array(
      select g.key from fencepost.gate g
      where g.key = any (v_keys)
      order by g.key
      for update
      skip locked); -- guard: admit.skip_locked

    if p_make and cardinality(v_got) < cardinality(v_keys) then
      with said as (
        select distinct on (s.key) s.*
        from (
          select * from unnest(v_calls)
          union all
          select n.* from fencepost.nudge n where n.key = any (v_keys)
        ) s
        order by s.key, s.declared_seq desc nulls last -- also one of which nothing is said: its nudge would stay for ever
      ), made as (
        insert into fencepost.gate (key, declared_limit, local_limit, declared_seq, declared_by)
        select s.key, s.declared_limit, s.local_limit, s.declared_seq, s.declared_by
        from said s
        where s.key > v_made -- guard: admit.make_order
          and not exists (select 1 from fencepost.gate g where g.key = s.key)
        order by s.key
        on conflict do nothing
        returning key
      )
      select v_got || coalesce(array_agg(m.key), '{}'), coalesce(max(m.key), v_made) into v_got, v_made from made m;
    end if;

    -- A new statement after the locks: what was committed before them is seen.
    if cardinality(v_got) < cardinality(v_keys) then
      v_left := true;
      perform fencepost.leave_nudges(array( -- guard: admit.nudge
        select c from unnest(v_calls) as c where c.key <> all (v_got)));
      v_calls := array(select c from unnest(v_calls) as c where c.key = any (v_got));
    end if;
    exit when v_got = '{}';
    with consumed as (
      delete from fencepost.nudge n where n.key = any (v_got) returning n.*
    ), told as materialized (
      select * from consumed
      union all
      select * from unnest(v_calls)
    ), said as materialized (
      -- Of each task the newest word, if it is not what stands.
      select s.*
      from (
        select distinct on (t.key, t.declared_by)
               t.key, coalesce(t.declared_limit, 2147483647) as lim, t.local_limit as loc, t.declared_seq as seq,
               t.declared_by as task
        from told t
        where t.declared_seq is not null
        order by t.key, t.declared_by, t.declared_seq desc
      ) s
      join fencepost.gate g on g.key = s.key
      where s.lim <> coalesce(g.declared_limit, 2147483647) or s.loc is distinct from g.local_limit
    ), freed as (
      select t.key, sum(t.freed)::integer as n from told t group by t.key
    )
    select array_agg(row(
             g.key, g.held - coalesce(f.n, 0), -- guard: admit.freed
             nullif(case when o.lim < coalesce(s.lim, g.declared_limit, 2147483647) then o.lim
                         else coalesce(s.lim, g.declared_limit, 2147483647) end, 2147483647),
             coalesce(s.loc, o.loc, g.local_limit),
             greatest(g.declared_seq, s.seq, o.seq),
             case when g.declared_by is null or o.lim < coalesce(s.lim, g.declared_limit, 2147483647) then o.task
                  else g.declared_by end,
             case when o.task is null then g.disputed_by
                  when g.declared_by is null then null
                  when o.lim < coalesce(s.lim, g.declared_limit, 2147483647) then g.declared_by
                  else o.task end,
             g.set_limit, g.paused_at, g.held_before)::fencepost.gate)
    into v_gates
    from fencepost.gate g
    left join freed f on f.key = g.key
    left join said s on s.key = g.key and s.task = g.declared_by and s.seq > g.declared_seq
    left join lateral (
      -- The lower of two tasks' limits wins, whoever speaks last.
      select s.* from said s where s.key = g.key and s.task is distinct from g.declared_by order by s.lim limit 1
    ) o on true
    where g.key = any (v_got);

    with room as materialized (
      select g.*, case when g.paused_at is not null then 0
                       when g.key like 'pause:%' then c_at_once + 1
                       else coalesce(g.set_limit, g.declared_limit, fencepost.limit_in_force(g)) - g.held end as room -- guard: admit.limit
      from unnest(v_gates) as g
    ), taken as materialized (
      select t.*
      from (select array_agg(r.key) as keys, array_agg(least(r.room, c_at_once)) as rooms
            from room r where r.room > 0) r
      cross join fencepost.take_waiters(r.keys, r.rooms) t
      where r.keys is not null
    ), counted as materialized (
      select r.*, coalesce(t.n, 0) as taken,
             r.held + case when r.key like 'pause:%' then 0 else coalesce(t.n, 0) end as held_now
      from room r
      left join (
        select g.key, count(*)::integer as n from taken t cross join lateral unnest(t.gates) as g(key) group by g.key
      ) t on t.key = r.key
    )
    select (select t.taken from taken t),
           (select array_agg(row(c.key, c.held_now, c.declared_limit, c.local_limit, c.declared_seq, c.declared_by,
                                 c.disputed_by, c.set_limit, c.paused_at,
                                 case when c.paused_at is not null then null else c.room - c.taken end)::fencepost.gate)
            from counted c)
    into v_next, v_gates; -- held_before now tells the room that is left

    -- Jobs that do not want to wait, where there is no room.
    v_freed := null;
    if exists (select 1 from fencepost.waiting w where w.fresh and w.on_full <> 'wait') then
      with full_gate as (
        select g.key from unnest(v_gates) as g where g.held_before <= 0
      ), gone as (
        delete from fencepost.waiting w
        where w.ctid = any (array(
          select q.ctid from fencepost.waiting q
          where q.gate in (select f.key from full_gate f)
            and q.fresh and q.on_full <> 'wait' -- guard: admit.fresh
            and (q.on_full = 'discard'
              or q.seq < (select max(n.seq) from fencepost.waiting n
                          where n.gate = q.gate and n.fresh and n.on_full <> 'wait'
                            and n.on_full = 'replace')) -- guard: admit.replace
          order by q.seq
          for update skip locked)) -- guard: admit.discard_skip_locked
        returning w.*
      ), put as (
        insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
        select w.job_id, fencepost.clock(), 'discarded', w.tries, w.releases, w.failures, w.losses,
               case w.on_full when 'discard' then 'gate_full' else 'replaced' end
        from gone w
      )
      select array_agg(k)
      into v_freed
      from gone w
      cross join lateral unnest(fencepost.given_back(w.gates, w.held, 0::smallint, null)) as k;
    end if;

    -- Room is left, and somebody waits: whoever has locked that row may not take it away. Look again.
    v_calls := array(
      select row(g.key, 0, null, null, null, null)::fencepost.nudge from unnest(v_gates) as g
      where g.held_before > 0
        -- Not `exists`: that is planned as a join, which reads all that wait.
        and (select true from fencepost.waiting w
             where w.gate = g.key and (w.tries > 0 or not fencepost.halted(g.key)) limit 1)); -- guard: admit.locked_waiter
    if v_calls <> '{}' then
      v_left := true;
      perform fencepost.leave_nudges(v_calls);
    end if;

    delete from fencepost.gate g
    using unnest(v_gates) as i
    where g.key = i.key and i.held = 0 and i.set_limit is null and i.paused_at is null
      and (select true from fencepost.waiting w where w.gate = i.key limit 1) is null; -- guard: admit.idle
    update fencepost.gate g
    set held = c.held, -- guard: admit.count
        declared_limit = c.declared_limit, local_limit = c.local_limit, declared_seq = c.declared_seq,
        declared_by = c.declared_by, disputed_by = c.disputed_by,
        held_before = case when c.held_before < 0 then c.held end
    from unnest(v_gates) as c
    where g.key = c.key
      and (g.held, g.declared_limit, g.local_limit, g.declared_by, g.disputed_by)
        is distinct from (c.held, c.declared_limit, c.local_limit, c.declared_by, c.disputed_by);

    v_calls := null;
    if v_next is not null then
      v_calls := fencepost.place(v_next);
    end if;
    if v_freed is not null then
      v_calls := v_calls || fencepost.hand_over(v_freed, true);
    end if;
    v_calls := coalesce(v_calls, '{}');
    exit when v_calls = '{}';
  end loop;
  if v_calls <> '{}' then
    v_left := true;
    perform fencepost.leave_nudges(v_calls);
  end if;
  return v_left or exists (select 1 from fencepost.nudge);
end $$;

-- The durable form of a call; whoever sleeps is notified.
create or replace function fencepost.leave_nudges(p_calls fencepost.nudge[]) returns void
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  insert into fencepost.nudge
  select c.key, sum(c.freed)::integer, (array_agg(c.declared_limit order by c.declared_seq desc))[1],
         (array_agg(c.local_limit order by c.declared_seq desc))[1], max(c.declared_seq), c.declared_by
  from unnest(p_calls) as c
  group by c.key, c.declared_by
  order by c.key;
  if found then
    perform pg_notify('fencepost.ready', '') -- guard: admit.notify
    where exists (select 1 from fencepost.sleeper)
      or current_setting('transaction_isolation') <> 'read committed'; -- guard: admit.notify_old_snapshot
  end if;
end $$;
