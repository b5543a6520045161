-- retry(job_ids, own) → (job_id, answer, outcome)
--
-- Move: finished (not succeeded) → place(), by a person or a policy. The old outcome moves to `attempt` in the same
-- statement. Counters go on; the budgets are granted anew on top of them.
-- `items`: also items of task runs; their run has to be told, by rerun().
-- Answers: `retried`; `item`: its run is to be rerun instead; `succeeded`: that is final; `unfinished`: the job has not ended (or was retried a moment ago);
--   `missing`.
-- Locks: rows of `finished` in order of job_id. Then those of admit().
create or replace function fencepost.retry(p_job_ids uuid[], p_own boolean default false, p_items boolean default false)
returns table (job_id uuid, answer text, outcome fencepost.outcome)
language plpgsql
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_ready fencepost.ready[];
  v_calls fencepost.nudge[];
begin
  perform fencepost.durable(); -- guard: retry.durable
  with undone as (
    delete from fencepost.finished f -- guard: retry.move
    using (
      select distinct a.id from unnest(p_job_ids) as a(id)
      order by a.id) a -- guard: retry.lock_order
    where f.job_id = a.id and f.outcome <> 'succeeded' -- guard: retry.final
      and (p_items or not exists (
        select 1 from fencepost.job i
        where i.id = a.id and i.run_id is not null)) -- guard: retry.items
    returning f.*
  ), log as (
    insert into fencepost.attempt as t -- guard: retry.log
      (job_id, lease_id, nonce, ended_at, started_at, retried_at, outcome, ending, worker, reason, error)
    select u.job_id, coalesce(u.lease_id, nextval('fencepost.lease_seq')), coalesce(u.nonce, 0), u.finished_at,
           u.started_at, fencepost.clock(), u.outcome,
           case when u.outcome in ('failed', 'cancelled') then u.outcome::text else 'unknown' end, u.worker, u.reason,
           u.error
    from undone u
    on conflict (job_id, lease_id, nonce) do update
      set outcome = excluded.outcome, retried_at = excluded.retried_at, reason = coalesce(t.reason, excluded.reason)
  )
  select array_agg(row(j.id, j.seq, u.tries, u.releases, j.priority, u.failures, u.losses,
                       least(u.failures + j.failures_max, 32767), -- guard: retry.failures_anew
                       least(u.losses + j.losses_max, 32767), -- guard: retry.losses_anew
                       j.queue, j.task, fencepost.gate_keys(j.gates), case when j.gates is not null then 0 end,
                       fencepost.local_limit(j.gates), false)::fencepost.ready) -- guard: retry.waits
  into v_ready
  from undone u
  join fencepost.job j on j.id = u.job_id;

  if v_ready is not null then
    v_calls := fencepost.place(v_ready);
    if v_calls is not null then
      perform fencepost.admit(v_calls, p_own);
    end if;
  end if;
  return query
    select a.id,
           case when r.job_id is not null then 'retried'
                when f.outcome = 'succeeded' then 'succeeded'
                when f.job_id is not null and j.run_id is not null then 'item'
                when j.id is not null then 'unfinished'
                else 'missing' end,
           case when f.outcome = 'succeeded' then f.outcome end -- no other: it came after the first statement
    from (select distinct x.id from unnest(p_job_ids) as x(id)) a
    left join unnest(v_ready) r on r.job_id = a.id
    left join fencepost.finished f on f.job_id = a.id
    left join fencepost.job j on j.id = a.id
    order by a.id;
end $$;
