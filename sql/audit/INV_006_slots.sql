-- Conservation of slots: a gate counts as many as the place rows hold, and the nudges have given back.
with holding as (
  select unnest(gates[1:held]) as key, job_id, 'ready' as place from fencepost.ready where gates is not null
  union all
  select unnest(fencepost.given_back(gates, held, 0::smallint, overrun)), job_id, 'leased'
  from fencepost.leased where gates is not null
  union all select unnest(gates[1:held]), job_id, 'waiting' from fencepost.waiting
  union all select unnest(gates[1:held]), job_id, 'delayed' from fencepost.delayed where held > 0
  union all select unnest(gates[1:held]), job_id, 'parked' from fencepost.parked where held > 0
), held as (
  select key, count(*) as n,
         jsonb_agg(jsonb_build_object('job_id', job_id, 'place', place)) filter (where i <= 20) as jobs
  from (select *, row_number() over (partition by key) as i from holding) h
  group by key
), freed as (
  select key, sum(freed) as n from fencepost.nudge group by key
)
select null::uuid as job_id,
       format('gate %s counts %s slots, but %s are held and %s given back', key, coalesce(g.held, 0),
              coalesce(h.n, 0), coalesce(f.n, 0)) as problem,
       jsonb_build_object('gate', to_jsonb(g), 'held_by', h.jobs) as rows
from (select * from fencepost.gate where key not like 'pause:%') g
full join held h using (key)
full join freed f using (key)
where key not like 'pause:%' and coalesce(g.held, 0) <> coalesce(h.n, 0) + coalesce(f.n, 0)
union all
select job_id, 'ready without all its gates', to_jsonb(r) from fencepost.ready r where held <> cardinality(gates)
union all
select job_id, 'keeps a gate that is not strict while it does not run', to_jsonb(d)
from (
  select job_id, gates, held from fencepost.delayed union all select job_id, gates, held from fencepost.parked
) d
where held > fencepost.fifo_held(gates, held)
