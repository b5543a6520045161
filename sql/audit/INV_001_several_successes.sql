-- warning
--
-- More than one attempt of a job reported success, stale ones included. The engine recorded one outcome; but what the
-- handlers did outside this database may have happened twice.
select s.job_id, s.successes || ' attempts reported success' as problem, s.rows
from (
  select a.job_id,
         count(*) filter (where a.late_ending = 'succeeded') + count(*) filter (where a.ending = 'succeeded')
           + (case when f.outcome = 'succeeded'
                    and not bool_or(a.lease_id = f.lease_id and a.nonce = f.nonce and a.ending = 'succeeded')
                   then 1 else 0 end) as successes,
         jsonb_agg(to_jsonb(a) order by a.ended_at) as rows
  from fencepost.attempt a
  left join fencepost.finished f on f.job_id = a.job_id
  where a.job_id in (select job_id from fencepost.attempt where late_ending = 'succeeded' or ending = 'succeeded')
  group by a.job_id, f.job_id
) s
where s.successes > 1
