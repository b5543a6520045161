-- A semaphore that expires: who has held it for more than 20 seconds is taken to be gone, and the next is let in.
create or replace function fencepost.overrun(p_limit integer default 1000)
returns table (job_id uuid, lease_id bigint, key text)
language plpgsql
as $$
#variable_conflict use_column
begin
  perform fencepost.admit(fencepost.hand_over(array_agg(k), true), true, false)
  from fencepost.leased l cross join lateral unnest(l.gates) as k
  where l.claimed_at < fencepost.clock() - interval '20 seconds'
  having count(*) > 0;
  return query
    select l.job_id, l.lease_id, l.gates[1] from fencepost.leased l
    where l.claimed_at < fencepost.clock() - interval '20 seconds';
end $$;
