import type { Queryable } from '../store/database.js'
import { inSchema } from '../store/schema-name.js'

/** Replaces clock() in a scratch schema by one that can be set ahead, so that no scenario has to wait. */
export async function installLabClock(client: Queryable, schema: string): Promise<void> {
  await client.query(
    inSchema(
      `create table fencepost.lab_clock (offset_ms bigint not null);
       insert into fencepost.lab_clock values (0);
       create or replace function fencepost.clock() returns timestamptz language sql volatile
       as $$ select clock_timestamp() + (select offset_ms from fencepost.lab_clock) * interval '1 ms' $$;`,
      schema,
    ),
  )
}

export async function advanceLabClock(client: Queryable, schema: string, ms: number): Promise<void> {
  await client.query(inSchema('update fencepost.lab_clock set offset_ms = offset_ms + $1', schema), [ms])
}
