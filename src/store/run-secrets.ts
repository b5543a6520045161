import type { Json } from '../job/json.js'
import type { Database } from './database.js'

/**
 * The values that must not be shown together with these runs: of the secret parameters of each and of the runs that it is
 * an item of, and of the secret fields that were answered in them.
 */
export async function readSecrets(
  db: Database,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Json[]>> {
  const rows = await db.read<{ runId: string; secret: Json }>(
    `with recursive line as (
       select r.id as run_id, r.id, r.parent_id from fencepost.run r where r.id = any ($1::uuid[])
       union all
       select l.run_id, p.id, p.parent_id from line l join fencepost.run p on p.id = l.parent_id
     )
     select l.run_id as "runId", r.parameters -> d.key as secret
     from line l
     join fencepost.run r on r.id = l.id
     join fencepost.workflow w on w.name = r.workflow and w.version = r.version
     cross join jsonb_each(w.definition -> 'parameters') as d
     where (d.value ->> 'secret')::boolean
     union all
     select l.run_id, t.result -> d.key
     from line l
     join fencepost.task_run t on t.run_id = l.id and t.action in ('core.ask', 'wait.approval')
     cross join jsonb_each(case when jsonb_typeof(t.input -> 'form') = 'object' then t.input -> 'form' else '{}' end) as d
     where (d.value ->> 'secret')::boolean and jsonb_typeof(t.result) = 'object'`,
    [runIds],
  )
  const secrets = new Map<string, Json[]>(runIds.map((id) => [id, []]))
  for (const { runId, secret } of rows) secrets.get(runId)?.push(secret)
  return secrets
}
