-- compatible-from: 6
--
-- What a job may be is asked by the moves that store one (sql/moves/new_job_rules.sql tells why), and by no constraint. That an
-- item of a run has an id by which it is known as one (tell_runs) is seen to where that id is made (item_id).
alter table fencepost.job
  drop constraint job_lease_ms_check, drop constraint job_failures_max_check, drop constraint job_losses_max_check,
  drop constraint job_queue_check, drop constraint job_task_check, drop constraint job_item_id;

-- begin_copy takes more: a second function of that name would make the calls of older processes ambiguous.
drop function if exists fencepost.begin_copy(integer);
-- And told_lease is put together from parts.
drop function if exists fencepost.told_lease(
  integer, uuid, bigint, bigint, integer, text, jsonb, bigint, integer, integer, smallint, boolean, smallint, integer, smallint,
  smallint, integer, jsonb);
