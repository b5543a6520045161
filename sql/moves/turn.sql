-- turn(worker, turn, again, tasks, finish …, fail …, release …, start …, queues, limits, starts, room, suspects, joined) → texts
--
-- What a busy worker has to say and to ask, in one round trip and one commit: it settles what has ended, marks what is
-- about to run, admits what nudges tell of, and claims. Every part is the move of that name; null arrays mean that there is nothing of that kind.
-- `results` is null if all of them are: most handlers return nothing.
-- Answers are texts of JSON, one for each thing that is told, or, if `joined`, for many leases at a time, with commas between
-- them: tens of thousands of leases a second are told, and each column of a row is copied four times on its way, here and
-- there. Of a lease, what is as it usually is is left out.
--   ["lease", n of its queue, job, lease, nonce, n of its task, payload, created at (ms), lease_ms, what is left of it,
--    failures_max, started (1, 0), and then, if anything of it is not 0, 1, 0, 0, 0 and null:
--    priority, tries, failures, losses, releases, policy]
--   ["finish" | "fail" | "release", job, lease, answer, outcome, duplicate]: what the move answers, except the plain
--    `finished`, which is nearly all of them and is not worth its bytes
--   ["start", job, lease, answer, cancel requested]: if not plainly `started`
--   ["nudged", null | "isolation"]: some gate has to be looked at again (isolation: for workers that began before version 16,
--    and say READ COMMITTED only when they are told that their turns are above it)
--   ["called"]: some run has something to do
--   ["unseen", ms]: a claim found too little where it looked, and did not look everywhere (see pick): it has to look again then
-- Claims from the queues in the order given, each at most its limit, together at most `room`, the first `starts` of each
-- born started; from the first of them also one suspect (see claim) if `suspects`.
-- Repeated with `again`, it answers the leases of its first try, from whichever queue; only if there are none it claims.
-- Locks: the turn's advisory lock; all lease rows in order of lease_id; then those of admit() and claim(), none of which
--   waits: gates are locked last.
create or replace function fencepost.turn(
  p_worker text, p_turn bigint, p_again boolean, p_tasks text[],
  p_finish_jobs uuid[], p_finish_leases bigint[], p_finish_nonces bigint[], p_results jsonb[],
  p_fail_jobs uuid[], p_fail_leases bigint[], p_fail_nonces bigint[], p_errors jsonb[], p_delays_ms bigint[],
  p_finals boolean[],
  p_release_jobs uuid[], p_release_leases bigint[], p_release_nonces bigint[], p_reasons text[],
  p_start_jobs uuid[], p_start_leases bigint[], p_start_nonces bigint[],
  p_queues text[], p_limits integer[], p_starts integer[], p_room integer, p_suspects boolean, p_joined boolean default false
) returns setof text
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
-- A caller's open transaction may hold a lease: give up before the client does, and leave no backend waiting behind.
set lock_timeout = '10s' -- guard: turn.lock_timeout
as $$
declare
  v_room integer := p_room;
  v_again boolean := p_again;
  v_queue integer;
  v_limit integer;
  v_suspects integer;
  v_claimed record;
  v_taken integer;
  v_found integer := 0;
  v_nudged boolean;
  v_called boolean;
  v_paused boolean;
begin
  perform pg_advisory_xact_lock(hashtext('fencepost.claim'), hashtext(p_worker || '/' || p_turn)); -- guard: turn.first_try
  if (p_finish_leases is not null)::int + (p_fail_leases is not null)::int + (p_release_leases is not null)::int
     + (p_start_leases is not null)::int > 1
     or p_release_leases is not null then -- for each reason there is a call of its own
    -- Each move locks in order of lease_id; several of them in a row would not, and could deadlock with a cancel.
    perform 1 -- guard: turn.lock_order
    from fencepost.leased l
    where l.lease_id = any (p_finish_leases || p_fail_leases || p_release_leases || p_start_leases)
    order by l.lease_id
    for update;
  end if;

  if p_finish_leases is not null then
    return query
      select json_build_array('finish', f.job_id, f.lease_id, f.answer, f.outcome, f.duplicate)::text
      from fencepost.finish(
        p_finish_jobs, p_finish_leases, p_finish_nonces, p_results, true, true) f
      where f.answer <> 'finished' or f.duplicate;
  end if;

  if p_fail_leases is not null then
    return query
      select json_build_array('fail', f.job_id, f.lease_id, f.answer, f.outcome, false)::text
      from fencepost.fail(p_fail_jobs, p_fail_leases, p_fail_nonces, p_errors, p_delays_ms, p_finals, true) f;
  end if;

  if p_release_leases is not null then
    return query
      select json_build_array('release', f.job_id, f.lease_id, f.answer, f.outcome, false)::text
      from (
        select r.reason, array_agg(r.job_id) as jobs, array_agg(r.lease_id) as leases, array_agg(r.nonce) as nonces
        from unnest(p_release_jobs, p_release_leases, p_release_nonces, p_reasons) as r(job_id, lease_id, nonce, reason)
        group by r.reason
      ) r, fencepost.release(r.jobs, r.leases, r.nonces, r.reason, true) f;
  end if;

  if p_start_leases is not null then
    return query
      select json_build_array('start', s.job_id, s.lease_id, s.answer, s.cancel_requested)::text
      from fencepost.start(p_start_jobs, p_start_leases, p_start_nonces) s
      where s.answer <> 'started' or s.cancel_requested;
  end if;

  select exists (select 1 from fencepost.nudge), exists (select 1 from fencepost.call),
         exists (select 1 from fencepost.gate g where g.paused_at is not null)
  into v_nudged, v_called, v_paused;
  if v_nudged and fencepost.admit(null, true, true, 200) then -- guard: turn.admit
    return next json_build_array(
      'nudged', case when current_setting('transaction_isolation') <> 'read committed' then 'isolation' end)::text;
  end if;

  if v_called then -- not in one with the next: that would be planned, and begun, for nothing
    if exists (
      select 1 from fencepost.call c
      join fencepost.run r on r.id = c.run_id
      where r.ended_at is null and r.state <> 'paused' and (r.busy_until is null or r.busy_until < fencepost.clock())
        and (r.state <> 'running' or r.needs <@ p_tasks)
    ) then
      return next '["called"]';
    end if;
  end if;

  for i in 1 .. coalesce(cardinality(p_queues), 0) * (1 + p_again::int) loop
    -- A repeat first asks every queue for what the first try took, and claims only if that is nothing.
    v_queue := (i - 1) % cardinality(p_queues) + 1;
    v_again := p_again and i <= cardinality(p_queues); -- guard: turn.again_first
    exit when v_room <= 0 or v_found > 0 and not v_again; -- guard: turn.found
    v_limit := case when v_again then 0 else least(p_limits[v_queue], v_room) end; -- guard: turn.room
    v_suspects := case when p_suspects and v_queue = 1 and not v_again then 1 else 0 end;
    if p_joined then
      v_taken := 0;
      for v_claimed in
        select c.told, c.taken
        from fencepost.claim_many(
          p_queues[v_queue], v_limit, p_worker, p_tasks, p_turn, v_again, p_starts[v_queue], v_suspects, p_told => v_queue,
          p_paused => v_paused) c -- guard: turn.many_paused
      loop
        v_taken := v_taken + v_claimed.taken; -- guard: turn.taken
        return next v_claimed.told;
      end loop;
    else
      return query
        select c.told
        from fencepost.claim(
          p_queues[v_queue], v_limit, p_worker, p_tasks, p_turn, v_again, p_starts[v_queue], v_suspects, p_told => v_queue,
          p_paused => v_paused) c; -- guard: turn.paused
      get diagnostics v_taken = row_count;
    end if;
    if current_setting('fencepost_claim.unseen_ms', true) <> '' then
      return next json_build_array('unseen', current_setting('fencepost_claim.unseen_ms')::integer)::text; -- guard: turn.unseen
      perform set_config('fencepost_claim.unseen_ms', '', true);
    end if;
    v_room := v_room - v_taken;
    v_found := v_found + case when p_again and i <= cardinality(p_queues) then v_taken else 0 end;
  end loop;
end $$;
