-- A job that is given back is put where it can run, whatever has become of its slot meanwhile.
select fencepost.lab_replace('fencepost.release',
  'when l.overrun is not null then fencepost.fifo_held(l.gates, l.held)', '');
