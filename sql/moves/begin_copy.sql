-- begin_copy(count, task, queue, failures_max, losses_max, lease_ms) → seqs
--
-- The beginning of a move: ∅ → ready, for a thousand plain jobs or more under ids that were made for this very call, as
-- enqueue_alike does it for fewer. They come by COPY into `job` and `ready`, in the transaction that begins with this, and
-- rouse() ends it (src/store/copied-jobs.ts). What is copied is logged by the page: 95 bytes of WAL less for each job, for
-- the same processor time.
-- Answers the seqs that the jobs are to have, in their order; only the first, if each is one more than the one before. In one
-- transaction with the rows: after a failover a sequence may give out again what nobody has stored.
-- What the jobs have in common is told to be checked; a process of an older version does not tell it.
-- Locks: none.
create or replace function fencepost.begin_copy(
  p_count integer, p_task text default null, p_queue text default null, p_failures_max smallint default null,
  p_losses_max smallint default null, p_lease_ms integer default null
) returns bigint[]
language plpgsql
as $$
declare
  v_seqs bigint[] := array(select nextval('fencepost.job_seq') from generate_series(1, p_count));
begin
  perform fencepost.durable(); -- guard: begin_copy.durable
  if not fencepost.may_be_job(p_task, p_queue, p_failures_max, p_losses_max, p_lease_ms) then -- guard: begin_copy.may_be_job
    perform fencepost.refuse_job();
  end if;
  if v_seqs[p_count] - v_seqs[1] = p_count - 1 then -- guard: begin_copy.gaps
    return v_seqs[1 : 1];
  end if;
  return v_seqs;
end $$;
