-- What is older than a minute goes, wherever it is: in one DELETE, and with nothing to tell of it.
create or replace function fencepost.sqs_sweep(p_ledger_ms bigint, p_limit integer default 1000) returns integer
language plpgsql
as $$
declare
  v_swept integer;
begin
  with old as (
    delete from fencepost.job j where j.created_at < fencepost.clock() - interval '1 minute' returning j.id
  ), ready as (
    delete from fencepost.ready r using old where r.job_id = old.id
  ), leased as (
    delete from fencepost.leased l using old where l.job_id = old.id
  )
  select count(*) into v_swept from old;
  return v_swept;
end $$;
