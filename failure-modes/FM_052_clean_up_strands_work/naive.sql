-- A collector of its own, which lists the gates that nobody uses, and then removes what it has listed.
select fencepost.lab_replace('fencepost.admit',
  'and (select true from fencepost.waiting w where w.gate = i.key limit 1) is null;', 'and false;');
create or replace function fencepost.overrun(p_limit integer default 1000)
returns table (job_id uuid, lease_id bigint, key text)
language plpgsql
as $$
declare
  v_idle text[];
begin
  v_idle := array(
    select g.key from fencepost.gate g
    where g.held = 0 and not exists (select 1 from fencepost.waiting w where w.gate = g.key));
  perform fencepost.lab_pause();
  delete from fencepost.gate g where g.key = any (v_idle);
end $$;
