-- finish_last(job_id, lease_id, nonce, result, mark)
--
-- finish() for one job as the last statement of a transaction, sent together with the COMMIT that follows: no time passes
-- between the two in which the process could be stopped while it holds its locks. It therefore cannot answer; it raises
-- FP011 if the lease is no longer held, FP012 if this very lease has finished already, FP013 if the transaction is not
-- the one that was begun with `mark` (its work has said COMMIT by itself), and the COMMIT becomes a ROLLBACK.
-- Locks: those of finish().
create or replace function fencepost.finish_last(
  p_job_id uuid, p_lease_id bigint, p_nonce bigint, p_result jsonb, p_mark text
) returns void
language plpgsql
as $$
declare
  v_answer text;
begin
  if current_setting('fencepost' || '.transaction', true) is distinct from p_mark then -- guard: finish_last.mark
    raise exception using errcode = 'FP013', message = 'the transaction has been ended inside';
  end if;
  select f.answer into v_answer
  from fencepost.finish(array[p_job_id], array[p_lease_id], array[p_nonce], array[p_result],
                        true) f; -- nothing comes after it: it may hand its slots over
  if v_answer <> 'finished' then -- guard: finish_last.fence
    raise exception using
      errcode = case v_answer when 'already' then 'FP012' else 'FP011' end,
      message = format('lease %s of job %s is not held: %s', p_lease_id, p_job_id, v_answer);
  end if;
end $$;
