-- First what can be told from the request and the settings, then what has to be looked up: it seems cheaper that way.
select fencepost.lab_replace('fencepost.sqs_send', 'if v_ledger <> ''off'' then', '
  return query
    select e.n::integer, ''too_large'', e.id, null::bigint, 0::smallint
    from unnest(p_ids, p_sizes) with ordinality as e(id, size, n)
    where e.size > (v_queue.settings ->> ''maximumMessageSize'')::integer;
  if found then
    return;
  end if;
  if v_ledger <> ''off'' then');
