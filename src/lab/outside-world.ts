import pg from 'pg'
import type { Queryable } from '../store/database.js'

/** A call that somebody else's system has received. `charged`: it had an effect there. */
export interface OutsideCall {
  readonly jobId: string
  readonly by: string
  readonly key: string | null
  readonly charged: boolean
}

/**
 * A payment provider, with a schema of its own next to the engine's: no transaction of the engine's reaches it, and it
 * honours idempotency keys. A call without a key is a charge each time.
 */
export async function installOutsideWorld(client: Queryable, schema: string): Promise<void> {
  const outside = outsideOf(schema)
  await client.query(
    `create schema ${outside};
     create table ${outside}.call (n bigint generated always as identity, job_id uuid not null, by text not null,
                                   key text, charged boolean not null);
     create unique index on ${outside}.call (key) where charged;`,
  )
}

/** Calls it on a connection of its own, in a transaction of its own, and answers whether that was a charge. */
export async function callOutside(url: string, schema: string, call: Omit<OutsideCall, 'charged'>): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const outside = outsideOf(schema)
    const { rows } = await client.query<{ charged: boolean }>(
      `insert into ${outside}.call (job_id, by, key, charged)
       select $1, $2, $3, not exists (select 1 from ${outside}.call c where c.key = $3)
       returning charged`,
      [call.jobId, call.by, call.key],
    )
    return (rows[0] as (typeof rows)[0]).charged
  } finally {
    await client.end()
  }
}

export async function outsideCalls(client: Queryable, schema: string): Promise<OutsideCall[]> {
  const { rows } = await client.query(
    `select job_id as "jobId", by, key, charged from ${outsideOf(schema)}.call order by n`,
  )
  return rows as OutsideCall[]
}

/** Not under the prefix of the scratch schemas: it goes with its neighbour, not as an abandoned one of its own. */
export function outsideOf(schema: string): string {
  return `"outside_of_${schema}"`
}
