-- compatible-from: 6
--
-- A part of moves whose answer changes: it cannot be replaced in its place. The answer is a type of its own: columns of a
-- function are put together anew for each call, which was a tenth of a claim that finds nothing.
do $$
declare
  v_move text;
begin
  for v_move in
    select p.oid::regprocedure from pg_proc p
    join pg_class c on c.relnamespace = p.pronamespace and c.oid = 'fencepost.job'::regclass
    where p.proname = 'claim'
  loop
    execute 'drop function ' || v_move;
  end loop;
end $$;

create type fencepost.claimed as (
  job_id uuid, lease_id bigint, nonce bigint, task text, payload jsonb, queue text, priority smallint, tries integer,
  failures smallint, losses smallint, releases integer, failures_max smallint, claimed_at timestamptz,
  expires_at timestamptz, lease_ms integer, created_at timestamptz, started boolean, policy jsonb, seq bigint,
  dead_from text, first_claimed_at timestamptz, told text
);
