-- durable()
--
-- An acknowledged move survives a crash of the server even where the session, role or database has switched
-- synchronous_commit off. It must be set for the transaction: a SET clause on the function ends before the COMMIT.
-- Settings stronger than `on` are left alone.
create or replace function fencepost.durable() returns void
language plpgsql
as $$
begin
  if current_setting('synchronous_commit') = 'off' then -- guard: durable.stronger
    perform set_config('synchronous_commit', 'on', true); -- guard: durable.commit
  end if;
end $$;
