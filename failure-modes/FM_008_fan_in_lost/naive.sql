-- The end of an item in one transaction, the word to its run in the next: the worker says it afterwards, if it is still
-- there.
create or replace function fencepost.tell_runs() returns trigger language plpgsql as $$ begin return null; end $$;
