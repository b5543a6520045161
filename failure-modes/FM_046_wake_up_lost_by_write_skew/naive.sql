-- Who calls a run sees a call there, and leaves it at one. Who advances it takes that call with it: but it was read before.
select fencepost.lab_replace('fencepost.call_runs', 'insert into fencepost.call (run_id) select unnest(p_run_ids)',
  'insert into fencepost.call (run_id) select r from unnest(p_run_ids) as r
   where not exists (select 1 from fencepost.call c where c.run_id = r)');
select fencepost.lab_replace('fencepost.advance_run',
  'and not exists (select 1 from fencepost.inbox i where i.run_id = p_run_id); -- guard: advance.call', ';');

-- A signal is for whoever waits for it.
select fencepost.lab_replace('fencepost.tell_run', 'insert into fencepost.inbox',
  'if not exists (select 1 from fencepost.task_run t where t.run_id = p_run_id and t.state = ''waiting'') then
     return ''sent'';
   end if;
   insert into fencepost.inbox');

-- Who begins to watch a run looks whether it has ended, and then says so.
select fencepost.lab_replace('fencepost.watch_run', 'for share skip locked;', '; perform fencepost.lab_pause(''A'');');

-- And who parks looks for a signal, and then parks.
select fencepost.lab_replace('fencepost.park',
  'insert into fencepost.signal as s (job_id, name, due_at)
  values (p_job_id, p_name, fencepost.clock() + p_wait_ms * interval ''1 ms'')
  on conflict (job_id, name) do update -- guard: park.mailbox
    set due_at = coalesce(s.due_at, excluded.due_at) -- guard: park.due
  returning s.* into v_mail;',
  'select s.* into v_mail from fencepost.signal s where s.job_id = p_job_id and s.name = p_name;
  perform fencepost.lab_pause(''P'');');
