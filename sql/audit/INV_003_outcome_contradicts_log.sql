-- A succeeded job stays succeeded, and the log of attempts agrees with the outcome: a success is never retried, the
-- lease that ended a job is not logged as having ended otherwise, and no outcome is written by two leases.
select f.job_id, 'succeeded, but the log says that the lease which ended it ' || a.ending as problem,
       jsonb_build_object('finished', to_jsonb(f), 'attempt', to_jsonb(a)) as rows
from fencepost.finished f
join fencepost.attempt a on a.job_id = f.job_id and a.lease_id = f.lease_id and a.nonce = f.nonce
where f.outcome = 'succeeded' and a.ending <> 'succeeded'
union all
select a.job_id, 'a success was undone by a retry', to_jsonb(a)
from fencepost.attempt a
where a.retried_at is not null and a.outcome = 'succeeded'
union all
select a.job_id, 'an attempt ended in success, but the job is not finished as succeeded by it',
       jsonb_build_object('finished', to_jsonb(f), 'attempt', to_jsonb(a))
from fencepost.attempt a
left join fencepost.finished f on f.job_id = a.job_id
where a.ending = 'succeeded'
  and (f.job_id is null or f.outcome <> 'succeeded' or f.lease_id <> a.lease_id or f.nonce <> a.nonce)
union all
select f.job_id, 'ended as ' || f.outcome || ' for ' || f.reason || ', but that budget is not used up', to_jsonb(f)
from fencepost.finished f
join fencepost.job j on j.id = f.job_id
where (f.reason = 'failures_exhausted' and f.failures <= j.failures_max)
   or (f.reason = 'losses_exhausted' and f.losses <= j.losses_max)
