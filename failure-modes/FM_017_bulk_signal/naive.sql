-- For every key of the jobs that are discarded, one signal: whether two of them held it, or none.
select fencepost.lab_replace('fencepost.cancel',
  'v_freed := v_freed || fencepost.given_back(v_row.gates, v_row.held, 0::smallint, null);',
  'v_freed := array(select distinct k from unnest(v_freed || v_row.gates) as k);');
