import type { Database } from '../../src/store/database.js'
import type { FreshKind } from './work.js'

/** `carried` are all that a turn of a worker stored; `born` those of them that were leased at once, and never ready. */
export type Way = FreshKind | 'born'
export const ways: readonly Way[] = ['carried', 'born', 'copied']

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
    when (current_query() ilike '%"fencepost".enqueue_claimed(%') execute function public.note_way('carried');
  create trigger queued after insert on fencepost.ready for each statement
    when (current_query() ilike '%"fencepost".enqueue_claimed(%') execute function public.note_way('queued');`

/** Jobs that came to stay in each of these ways. */
export async function countStoredBy(db: Database): Promise<Record<Way, number>> {
  const [counts] = await db.read<Record<Way, number>>(
    `select count(*) filter (where 'carried' = any (s.ways)) as carried, count(*) filter (where s.ways = '{carried}') as born,
            count(*) filter (where 'copied' = any (s.ways)) as copied
     from fencepost.job j join (select xid::text, array_agg(distinct way) as ways from public.stored_by group by xid::text) s
       on s.xid = j.xmin::text`,
  )
  return counts as Record<Way, number>
}
