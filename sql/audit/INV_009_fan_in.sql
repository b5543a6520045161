-- Fan-in: what a run waits for is under way, what has ended is told, and every item was made once.
select r.id as job_id, format('run %s is %s, and nothing of it is under way', r.id, r.state) as problem, to_jsonb(r) as rows
from fencepost.run r
where r.ended_at is null and r.state <> 'paused'
  and not exists (select 1 from fencepost.task_run t where t.run_id = r.id and t.ended_at is null)
  and not exists (select 1 from fencepost.call c where c.run_id = r.id)
union all
select r.id, format('run %s was told something, and nobody is called', r.id), to_jsonb(i)
from fencepost.run r
join fencepost.inbox i on i.run_id = r.id
where r.ended_at is null and r.state <> 'paused'
  and not exists (select 1 from fencepost.call c where c.run_id = r.id)
union all
select t.run_id, format('task %s#%s of run %s waits, and all its items have ended', t.task, t.ordinal, t.run_id), to_jsonb(t)
from fencepost.task_run t
join fencepost.run r on r.id = t.run_id and r.ended_at is null and r.state <> 'paused'
where t.ended_at is null and t.state = 'running'
  and t.action !~ '^(core\.(echo|noop|fail|sleep|ask)|wait\.|workflow\.)'
  and t.dispatched = (select count(*) from fencepost.job j join fencepost.finished f on f.job_id = j.id
                      where j.run_id = t.run_id and j.run_task = t.task and j.ordinal = t.ordinal)
  and not exists (select 1 from fencepost.call c where c.run_id = r.id)
union all
select t.run_id, format('task %s#%s of run %s goes on, and the run has ended', t.task, t.ordinal, t.run_id), to_jsonb(t)
from fencepost.task_run t
join fencepost.run r on r.id = t.run_id and r.ended_at is not null
where t.ended_at is null and r.error ->> 'code' is distinct from 'FP_ADVANCE_LOST'
union all
select t.run_id, format('task %s#%s of run %s has ended with %s of %s items', t.task, t.ordinal, t.run_id,
                        t.succeeded + t.failed, t.dispatched), to_jsonb(t)
from fencepost.task_run t
where t.ended_at is not null and t.succeeded + t.failed <> t.dispatched
union all
select j.run_id, format('task %s#%s of run %s has %s jobs, and made %s', j.run_task, j.ordinal, j.run_id, j.n, t.dispatched),
       jsonb_build_object('task_run', to_jsonb(t), 'jobs', j.n)
from (
  select run_id, run_task, ordinal, count(*) as n, count(distinct item) as items
  from fencepost.job where run_id is not null group by 1, 2, 3
) j
left join fencepost.task_run t on t.run_id = j.run_id and t.task = j.run_task and t.ordinal = j.ordinal
where t.run_id is null or j.n <> t.dispatched or j.n <> j.items
