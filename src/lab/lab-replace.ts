import type { Queryable } from '../store/database.js'
import { inSchema } from '../store/schema-name.js'

/** lab_replace(function, text, by): takes a guard out of a function of a scratch schema, and raises if it is not there. */
export async function installLabReplace(client: Queryable, schema: string): Promise<void> {
  await client.query(
    inSchema(
      `create function fencepost.lab_replace(p_function text, p_text text, p_by text) returns void language plpgsql as $$
       declare
         v_definition text := pg_get_functiondef(p_function::regproc);
       begin
         if position(p_text in v_definition) = 0 then
           raise exception '% has nothing like: %', p_function, p_text;
         end if;
         execute replace(v_definition, p_text, p_by);
       end $$;`,
      schema,
    ),
  )
}
