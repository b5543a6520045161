-- compatible-from: 6
--
-- begin_copy is new: whoever calls it must not start where it is not. What comes by COPY leaves its time to the table. The
-- default is declared stable: with a volatile one, COPY would insert, and log, row by row.
create function fencepost.stored_at() returns timestamptz
language plpgsql stable
as $$ begin return fencepost.clock(); end $$;

alter table fencepost.job alter column created_at set default fencepost.stored_at();
