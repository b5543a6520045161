-- Admission: no gate is held beyond its limit, unless that was lowered since; and nobody waits where there is room, for
-- longer than the workers need to see it.
select null::uuid as job_id,
       format('gate %s is held %s times, its limit is %s', g.key, g.held - f.n, fencepost.limit_in_force(g)) as problem,
       to_jsonb(g) as rows
from fencepost.gate g
cross join lateral (select coalesce(sum(n.freed), 0) as n from fencepost.nudge n where n.key = g.key) f
where g.key not like 'pause:%'
  and coalesce(g.set_limit, g.declared_limit) is not null -- not of a window that shrinks when a worker goes
  and g.held - f.n > greatest(fencepost.limit_in_force(g), coalesce(g.held_before, 0))
union all
select w.job_id,
       format('waits at %s, which has room, since %s', w.gate, w.since),
       jsonb_build_object('waiting', to_jsonb(w), 'gate', to_jsonb(g))
from (select distinct gate from fencepost.waiting) k
cross join lateral (
  select * from fencepost.waiting w where w.gate = k.gate order by w.rank, w.seq limit 1
) w
left join fencepost.gate g on g.key = w.gate
cross join lateral (select coalesce(sum(n.freed), 0) as n, count(*) as nudges from fencepost.nudge n where n.key = w.gate) f
where w.since < fencepost.clock() - interval '10 seconds'
  and g.paused_at is null and (w.tries > 0 or not fencepost.halted(g.key))
  and (g.key is null or g.key like 'pause:%' or g.held - f.n < fencepost.limit_in_force(g))
  -- A nudge tells of it, and nobody is there to heed it: that is no fault of the engine's.
  and (f.nudges = 0 or exists (select 1 from fencepost.worker v where v.seen_at > fencepost.clock() - interval '10 seconds'))
