-- take_waiters(keys, counts) → rows of `waiting`
--
-- Takes the first waiters of each gate out of `waiting`, at most `count` of each. Part of hand_over and admit, which
-- have slots for them. Jobs of a paused queue or task are sent aside on the way, without a slot. At a gate that is halted,
-- only those that have begun before, and come back after a failure or a wait.
-- Locks: rows of `waiting`, skipping locked ones.
create or replace function fencepost.take_waiters(p_keys text[], p_counts integer[]) returns setof fencepost.waiting
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
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
    return query
      with taken as (
        delete from fencepost.waiting w
        where w.ctid = any (array(
          select q.ctid
          from unnest(p_keys, p_counts) as k(key, n)
          cross join lateral (
            select q.ctid from fencepost.waiting q
            where q.gate = k.key
              and (q.tries > 0 or not fencepost.halted(k.key)) -- guard: take_waiters.halted
              and (k.key not like 'fifo:%' -- nobody passes a head that a cancel has locked, and may leave
                or q.seq = (select min(h.seq) from fencepost.waiting h
                            where h.gate = k.key and h.rank = 0)) -- guard: take_waiters.head
            order by q.rank, q.seq -- guard: take_waiters.order
            limit k.n
            for update skip locked -- guard: take_waiters.skip_locked
          ) q))
        returning w.*
      )
      select * from taken;
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
        return next v_row;
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
