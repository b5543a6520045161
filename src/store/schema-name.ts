import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'

/**
 * The schema's name is the one identifier that becomes part of SQL text, inside dollar-quoted function bodies, too: so
 * it is restricted to what needs no escaping anywhere, and quoted all the same (it may be a reserved word).
 */
export function checkedSchemaName(name: unknown): string {
  if (
    typeof name !== 'string' ||
    !/^[a-z][a-z0-9_]*$/.test(name) || // guard: schema-name.plain
    name.startsWith('pg_') ||
    name === 'information_schema' ||
    name.length > limits.schemaLengthMax
  ) {
    throw new FencepostError('FP_SCHEMA_NAME_INVALID', shown(name))
  }
  return name
}

/** SQL files are written for the schema `fencepost`; this makes them speak of another one. */
export function inSchema(sql: string, schema: string): string {
  return sql.replace(/\bfencepost\./g, `"${schema}".`)
}
