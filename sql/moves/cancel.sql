-- cancel(job_ids, reason, own) → (job_id, answer, outcome)
--
-- Move: ready, waiting, delayed, parked → finished(cancelled). A leased job gets a durable flag instead: its worker is told by
-- its next heartbeat, and every move out of `leased` but finish ends it as cancelled.
-- Answers: `cancelled`; `requested` (it is running); `finished` with the outcome it already has; `missing`.
-- A job may hop between two places while cancel waits for its row: so it looks again, each time with a fresh snapshot,
-- until it has ended the job, flagged it, or seen it finished. (Above READ COMMITTED such a hop is a 40001.)
-- Raises FP002 if it has looked a thousand times: then the job is in no place, and `fencepost audit` shows it.
-- Locks: one place row after the other: jobs that do not run in order of id, then those that do in order of lease_id, as
--   settles lock them.
create or replace function fencepost.cancel(p_job_ids uuid[], p_reason text default null, p_own boolean default false,
  p_running boolean default true)
returns table (job_id uuid, answer text, outcome fencepost.outcome)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_job fencepost.job;
  v_row record;
  v_freed text[] := '{}';
begin
  perform fencepost.durable(); -- guard: cancel.durable
  for job_id in
    select a.id
    from unnest(p_job_ids) as a(id)
    left join fencepost.leased l on l.job_id = a.id
    group by a.id
    order by max(l.lease_id) nulls first, -- guard: cancel.lease_order
             a.id -- guard: cancel.id_order
  loop
    outcome := null;
    select * into v_job from fencepost.job j where j.id = job_id;
    if not found then
      answer := 'missing';
      return next;
      continue;
    end if;
    for v_round in 0 .. 1000 loop -- guard: cancel.loop
      if v_round = 1000 then -- guard: cancel.bounded
        raise exception using errcode = 'FP002', message = format('job %s is in no place', v_job.id),
          hint = 'Run `fencepost audit`.';
      end if;

      delete from fencepost.ready r
      where r.queue = v_job.queue and r.priority = v_job.priority and r.seq = v_job.seq
      returning r.tries, r.releases, r.failures, r.losses, r.gates, r.held into v_row;
      if not found and v_job.gates is not null then
        delete from fencepost.waiting w
        where w.gate = any (fencepost.gate_keys(v_job.gates)
                            || array['pause:queue:' || v_job.queue, 'pause:task:' || v_job.task])
          and w.rank in (0, v_job.priority) and w.seq = v_job.seq
        returning w.tries, w.releases, w.failures, w.losses, w.gates, w.held into v_row;
      end if;
      if not found then
        delete from fencepost.delayed d where d.job_id = v_job.id
        returning d.tries, d.releases, d.failures, d.losses, d.gates, d.held into v_row;
      end if;
      if not found then
        delete from fencepost.parked p where p.job_id = v_job.id
        returning p.tries, p.releases, p.failures, p.losses, p.gates, p.held into v_row;
      end if;
      if found then
        insert into fencepost.finished (job_id, finished_at, outcome, tries, releases, failures, losses, reason)
        values (v_job.id, fencepost.clock(), 'cancelled', v_row.tries, v_row.releases, v_row.failures, v_row.losses,
                coalesce(p_reason, 'cancelled'));
        v_freed := v_freed || fencepost.given_back(v_row.gates, v_row.held, 0::smallint, null); -- guard: cancel.slots
        answer := 'cancelled';
        outcome := 'cancelled';
        exit;
      end if;

      if not p_running then -- guard: cancel.let_end
        if exists (select 1 from fencepost.leased l where l.job_id = v_job.id) then
          answer := 'running';
          exit;
        end if;
      else
        update fencepost.leased l
        set cancel_requested_at = coalesce(l.cancel_requested_at, fencepost.clock()), -- guard: cancel.first_request
            cancel_reason = coalesce(l.cancel_reason, p_reason)
        where l.job_id = v_job.id;
        if found then
          answer := 'requested';
          exit;
        end if;
      end if;

      select f.outcome into outcome from fencepost.finished f where f.job_id = v_job.id;
      if found then
        answer := 'finished';
        exit;
      end if;

      select * into v_job from fencepost.job j where j.id = job_id; -- guard: cancel.moved (a dead letter changes its queue)
      if not found then
        answer := 'missing';
        exit;
      end if;
    end loop;
    return next;
  end loop;
  if v_freed <> '{}' then -- after everything that can wait
    perform fencepost.admit(fencepost.hand_over(v_freed, p_own), p_own, false);
  end if;
end $$;
