-- take_waiters(keys, counts) → rows of `waiting`
--
-- Takes the first waiters of each gate out of `waiting`, at most `count` of each. Part of hand_over and admit, which
-- have slots for them. Jobs of a paused queue or task are sent aside on the way, without a slot.
-- Locks: rows of `waiting`, skipping locked ones.
create or replace function fencepost.take_waiters(p_keys text[], p_counts integer[]) returns setof fencepost.waiting
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_paused text[];
  v_row fencepost.waiting;
  v_pause text;
  v_left integer;
  v_aside integer := 0;
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
    while v_left > 0 and v_aside < 1000 loop
      delete from fencepost.waiting w
      where w.ctid = any (array(
        select q.ctid from fencepost.waiting q
        where q.gate = p_keys[i]
        order by q.rank, q.seq
        limit 1
        for update skip locked))
      returning w.* into v_row;
      exit when not found;
      select p into v_pause
      from unnest(v_paused) as p
      where p in ('pause:queue:' || v_row.queue, 'pause:task:' || v_row.task)
        and p <> v_row.gate
        and v_row.held = fencepost.fifo_held(v_row.gates, v_row.held)
      order by p
      limit 1;
      if v_pause is null then
        v_left := v_left - 1;
        return next v_row;
      else
        v_aside := v_aside + 1;
        v_row.gate := v_pause;
        insert into fencepost.waiting select (v_row).*;
        -- Whoever ends the pause may have looked before this commits.
        insert into fencepost.nudge (key, freed, declared_seq, declared_by)
        values (v_pause, 0, v_row.seq, v_row.task);
      end if;
    end loop;
  end loop;
end $$;
