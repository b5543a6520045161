-- compatible-from: 6
--
-- When a look for what is ready from the beginning is due again: one session looks for all who look for the same (mark_claimed.sql).
-- What has this number by its hash may be overwritten by something else that has it: then each session looks by itself.
create table fencepost.look (
  slot smallint primary key,
  key text not null,
  until timestamptz not null,
  next timestamptz
) with (vacuum_truncate = off);
