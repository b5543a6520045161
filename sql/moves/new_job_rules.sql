-- What a job may be. Asked by the moves that store one, and no constraints of the table: of those the server reads the text and
-- makes a plan again in every statement that inserts, 132,000 instructions of the 450,000 of enqueueing one job.

-- may_be_job(task, queue, failures_max, losses_max, lease_ms) → whether a job may have them. What is null the table refuses.
create or replace function fencepost.may_be_job(
  p_task text, p_queue text, p_failures_max smallint, p_losses_max smallint, p_lease_ms integer
) returns boolean
language sql immutable
as $$
  select p_task <> '' and p_queue <> '' and p_failures_max >= 0 and p_losses_max >= 0 and p_lease_ms > 0
$$;

-- refuse_job(): raises what a constraint would
create or replace function fencepost.refuse_job() returns void
language plpgsql
as $$
begin
  raise exception using errcode = 'check_violation',
    message = 'a job needs the names of a task and a queue, budgets of 0 or more, and a lease of 1 ms or more',
    hint = 'Nothing of the call was stored.';
end $$;
