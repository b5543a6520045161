import type { Database } from '../../src/store/database.js'
import type { FreshKind } from './work.js'

/**
 * The server itself writes down which transactions stored jobs by COPY, and which with a worker's turn: whoever enqueues cannot
 * tell, and an engine that takes neither way any more would pass every other check.
 */
export const storedBySql = `
  create table public.stored_by (xid xid not null, way text not null);
  create function public.note_way() returns trigger language plpgsql as $$ begin
    insert into public.stored_by values (pg_current_xact_id()::xid, tg_argv[0]);
    return null;
  end $$;
  create trigger copied after insert on fencepost.job for each statement
    when (current_query() ilike '%copy "fencepost".job%') execute function public.note_way('copied');
  create trigger carried after insert on fencepost.job for each statement
    when (current_query() ilike '%"fencepost".enqueue_claimed(%') execute function public.note_way('carried');`

/** Jobs that came to stay in each of the two ways. */
export async function countStoredBy(db: Database): Promise<Record<FreshKind, number>> {
  const [counts] = await db.read<Record<FreshKind, number>>(
    `select count(*) filter (where s.way = 'carried') as carried, count(*) filter (where s.way = 'copied') as copied
     from fencepost.job j join (select distinct xid, way from public.stored_by) s on s.xid = j.xmin`,
  )
  return counts as Record<FreshKind, number>
}
