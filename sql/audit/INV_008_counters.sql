-- Accounting: the counters of a job are what its log of attempts adds up to, and its tries are the leases it had.
with placed as (
  select job_id, tries, failures, losses, releases, 0 as unlogged from fencepost.ready
  union all select job_id, tries, failures, losses, releases, 1 from fencepost.leased
  union all select job_id, tries, failures, losses, releases, 0 from fencepost.delayed
  union all select job_id, tries, failures, losses, releases, 0 from fencepost.parked
  union all select job_id, tries, failures, losses, releases, 0 from fencepost.waiting
  -- A first-try success is recorded by the outcome itself. (One that was said of a lease which had run out, by a client of
  -- SQS, before anyone received the message again, is in the log.)
  union all select job_id, tries, failures, losses, releases, (outcome = 'succeeded' and tries = 1 and releases = 0)::int
            from fencepost.finished
), logged as (
  select job_id,
         count(*) filter (where ending = 'failed' ) as failures,
         count(*) filter (where ending = 'lost') as losses,
         count(*) filter (where ending = 'released') as releases,
         -- What a retry moved here without a lease, and what a stale worker said of a lease unknown to us, were no tries.
         count(*) filter (where claimed_at is not null) as tries,
         jsonb_agg(jsonb_build_object('lease_id', lease_id, 'ending', ending, 'worker', worker) order by ended_at) as rows
  from fencepost.attempt
  group by job_id
)
select p.job_id,
       format('tries %s, failures %s, losses %s, releases %s; the log says %s, %s, %s, %s', p.tries, p.failures,
              p.losses, p.releases, coalesce(l.tries, 0) + p.unlogged, coalesce(l.failures, 0), coalesce(l.losses, 0),
              coalesce(l.releases, 0)) as problem,
       coalesce(l.rows, '[]') as rows
from placed p
left join logged l on l.job_id = p.job_id
where (p.tries, p.failures, p.losses, p.releases) is distinct from
      ((coalesce(l.tries, 0) + p.unlogged)::int, coalesce(l.failures, 0)::smallint, coalesce(l.losses, 0)::smallint,
       coalesce(l.releases, 0)::int)
