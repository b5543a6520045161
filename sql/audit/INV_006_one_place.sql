-- Conservation: every job is in exactly one place, and every place row belongs to a job.
with placed as (
  select job_id, 'ready' as place, null::bigint as lease_id from fencepost.ready
  union all select job_id, 'leased', lease_id from fencepost.leased
  union all select job_id, 'delayed', null from fencepost.delayed
  union all select job_id, 'parked', null from fencepost.parked
  union all select job_id, 'waiting', null from fencepost.waiting
  union all select job_id, 'finished', lease_id from fencepost.finished
)
select coalesce(j.id, p.job_id) as job_id,
       case when j.id is null then 'a row in ' || p.places || ', but no such job'
            when p.job_id is null then 'in no place'
            else 'in ' || p.n || ' places: ' || p.places end as problem,
       coalesce(p.rows, to_jsonb(j) - 'payload') as rows
from fencepost.job j
full join (
  select job_id, count(*) as n, string_agg(place, ', ' order by place) as places,
         jsonb_agg(jsonb_build_object('place', place, 'lease_id', lease_id)) as rows
  from placed
  group by job_id
) p on p.job_id = j.id
where j.id is null or p.job_id is null or p.n > 1
