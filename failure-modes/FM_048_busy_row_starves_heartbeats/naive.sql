-- One heartbeat for all leases, which waits for each of them.
select fencepost.lab_replace('fencepost.extend', 'skip locked -- guard: extend.skip_locked', '');
