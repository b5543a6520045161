-- reap(limit, every_ms, dead_ms) → what lose() answers
--
-- Takes back the leases that have run out, unless that may be an outage's doing: the time of each look is kept, and a
-- gap between two of them (nobody could reach the database) or a step of the clock, larger than half a lease, gives
-- that lease one more length from now, and ten seconds at least (who could not connect tries again after a pause), in which
-- its holder can show that it lives. Also sweeps workers that have not been seen for `dead_ms`.
-- From any number of processes, each every `every_ms`: one looks at a time, the others answer nothing, as they do if
-- somebody has looked just now. A gap of up to twice `every_ms` is none, however short the lease.
-- Locks: the pulse, skipping; then lease rows in order of job_id, skipping locked ones; then those of lose().
create or replace function fencepost.reap(
  p_limit integer default 1000, p_every_ms integer default 0, p_dead_ms integer default 60000
) returns table (job_id uuid, lease_id bigint, worker text, answer text, outcome fencepost.outcome)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz;
  v_beat timestamptz;
  v_step interval;
  v_gap_ms bigint;
begin
  -- The first look of all follows no gap.
  insert into fencepost.pulse (beat_at)
  select fencepost.clock() - p_every_ms * interval '1 ms' where not exists (select 1 from fencepost.pulse)
  on conflict do nothing; -- guard: reap.first_look
  select p.beat_at into v_beat from fencepost.pulse p for update skip locked; -- guard: reap.one_looks
  if not found then
    return;
  end if;
  v_now := fencepost.clock();
  if v_now >= v_beat and v_now < v_beat + p_every_ms * interval '0.5 ms' then -- guard: reap.every
    return;
  end if;
  update fencepost.pulse set beat_at = v_now;

  v_step := v_now - v_beat;
  v_gap_ms := abs(extract(epoch from v_step) * 1000);
  if 4 * p_every_ms < 2 * v_gap_ms then -- guard: reap.no_gap (or all leases, and all that were before them, are read for nothing)
    with cut_off as (
      select l.lease_id, l.job_id
      from fencepost.leased l
      where greatest(l.lease_ms, 4 * p_every_ms) < 2 * v_gap_ms -- guard: reap.gap
      order by l.job_id
      for no key update skip locked -- guard: reap.skip_locked
    )
    update fencepost.leased l
    set expires_at = greatest(
      v_now + greatest(l.lease_ms, 10000) * interval '1 ms', -- guard: reap.grace
      -- The clock went back: what was left is left, and not an hour more.
      l.expires_at + least(v_step, interval '0')) -- guard: reap.step_back
    from cut_off c
    where l.lease_id = c.lease_id;
  end if;

  if 2 * v_gap_ms > p_dead_ms then
    update fencepost.worker w set seen_at = v_now; -- guard: reap.gap_of_workers
  else
    perform fencepost.retire(w.id) from fencepost.worker w where w.seen_at < v_now - p_dead_ms * interval '1 ms';
    delete from fencepost.sleeper s
    where not exists (select 1 from fencepost.worker w where w.id = s.worker)
      and not exists (select 1 from fencepost.sqs_server v where v.id = s.worker); -- guard: reap.sqs_sleepers
  end if;

  return query select * from fencepost.lose(p_limit);
end $$;
