import pg from 'pg'
import { FencepostError } from '../errors.js'
import { catalogued, unreachable } from './database-errors.js'
import { checkedDatabaseUrl } from './database-url.js'
import { checkedSchemaName, inSchema } from './schema-name.js'
import { type Migration, movesDigest, readSqlFiles, type SqlFiles } from './sql-files.js'

export interface SchemaStatus {
  readonly schema: string
  /** The version installed; 0 if there is none. */
  readonly version: number
  /** The version this process knows. */
  readonly latest: number
  readonly pending: readonly string[]
  /** The functions differ from this process’s, and would be replaced. */
  readonly movesDiffer: boolean
}

export interface MigrateOptions {
  readonly url: string
  readonly schema: string
  readonly dryRun?: boolean
  /** Other SQL than the package’s own: the lab and the guard tests install altered functions. */
  readonly files?: SqlFiles
}

const serverVersionMin = 150_000
const connectMsMax = 10_000

/**
 * Brings the schema to this process’s version, in one transaction, under a lock: any number of processes may call it
 * at once. A schema that is newer is left alone.
 */
export async function migrate(options: MigrateOptions): Promise<SchemaStatus> {
  const schema = checkedSchemaName(options.schema)
  const files = options.files ?? readSqlFiles()
  return withClient(options.url, async (client) => {
    // At a higher level, a default of the database’s or the role’s, the snapshot would be older than the lock.
    await client.query('begin isolation level read committed, read write') // guard: migrator.isolation
    // guard: migrator.lock
    await client.query(`select pg_advisory_xact_lock(hashtext('fencepost.migrate'), hashtext($1))`, [schema])
    const { installed, ...status } = await read(client, schema, files)
    refuseNewer(installed, status) // guard: migrator.newer
    if (options.dryRun) {
      // guard: migrator.dry_run
      await client.query('rollback')
      return status
    }
    if (status.version === 0) await createSchema(client, schema)
    for (const migration of files.migrations) {
      if (migration.version > status.version) await apply(client, schema, migration)
    }
    if (status.movesDiffer) await createMoves(client, schema, files)
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new FencepostError('FP_TRANSACTION_ROLLED_BACK')
    return status
  })
}

/** What is installed; changes nothing. */
export async function schemaStatus(options: MigrateOptions): Promise<SchemaStatus> {
  const schema = checkedSchemaName(options.schema)
  return withClient(options.url, async (client) => {
    const { installed: _, ...status } = await read(client, schema, options.files ?? readSqlFiles())
    return status
  })
}

/** Refuses to work with a schema that this process does not understand, or that is not there. */
export async function requireSchema(options: MigrateOptions): Promise<void> {
  const schema = checkedSchemaName(options.schema)
  await withClient(options.url, async (client) => {
    const { installed, ...status } = await read(client, schema, options.files ?? readSqlFiles())
    if (status.version === 0) throw new FencepostError('FP_SCHEMA_MISSING', schema) // guard: migrator.missing
    if (status.version < status.latest) {
      // guard: migrator.older
      throw new FencepostError(
        'FP_SCHEMA_OLDER',
        `${schema} is at version ${status.version}, this process needs ${status.latest}`,
      )
    }
    refuseNewer(installed, status) // guard: migrator.required_newer
  })
}

interface Installed {
  readonly version: number
  readonly compatible_from: number
}

async function read(
  client: pg.Client,
  schema: string,
  files: SqlFiles,
): Promise<SchemaStatus & { installed: readonly Installed[] }> {
  const { rows: found } = await client.query<{ ours: boolean; empty: boolean }>(
    // `migration` is a name that others use, too: ours has the column compatible_from, and a companion.
    `select exists (select 1 from pg_attribute a
                    where a.attrelid = to_regclass(quote_ident($1) || '.migration') and a.attname = 'compatible_from')
              and to_regclass(quote_ident($1) || '.moves_installed') is not null as ours,
            not exists (select 1 from pg_class where relnamespace = n.oid)
              and not exists (select 1 from pg_proc where pronamespace = n.oid)
              and not exists (select 1 from pg_type where typnamespace = n.oid) as empty
     from (select to_regnamespace(quote_ident($1))::oid as oid) n`,
    [schema],
  )
  const { ours, empty } = found[0] as { ours: boolean; empty: boolean }
  if (!ours && !empty) throw new FencepostError('FP_SCHEMA_FOREIGN', schema) // guard: migrator.foreign
  const installed = ours
    ? (await client.query<Installed>(`select version, compatible_from from "${schema}".migration order by version`))
        .rows
    : []
  const version = installed.at(-1)?.version ?? 0
  const latest = files.migrations.at(-1)?.version ?? 0
  const digest = ours
    ? (await client.query<{ digest: string }>(`select digest from "${schema}".moves_installed`)).rows[0]?.digest
    : undefined
  return {
    schema,
    version,
    latest,
    pending: files.migrations.filter((migration) => migration.version > version).map(({ name }) => name),
    // The functions of a newer version are not ours to replace.
    movesDiffer: version <= latest && digest !== movesDigest(files), // guard: migrator.newer_functions
    installed,
  }
}

function refuseNewer(installed: readonly Installed[], { schema, version, latest }: SchemaStatus): void {
  const needs = Math.max(0, ...installed.map((row) => row.compatible_from)) // guard: migrator.needs_all
  if (version > latest && needs > latest) {
    throw new FencepostError(
      'FP_SCHEMA_NEWER',
      `${schema} is at version ${version} and needs processes that know version ${needs}; this one knows ${latest}`,
    )
  }
}

async function createSchema(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query(`select 1 from pg_namespace where nspname = $1`, [schema])
  if (rows.length === 0) await client.query(`create schema "${schema}"`)
  await client.query(
    `create table "${schema}".migration (
       version integer primary key, name text not null, compatible_from integer not null,
       applied_at timestamptz not null default clock_timestamp());
     create table "${schema}".moves_installed (one boolean primary key default true check (one), digest text not null)`,
  )
}

async function apply(client: pg.Client, schema: string, migration: Migration): Promise<void> {
  await client.query(inSchema(migration.sql, schema))
  await client.query(`insert into "${schema}".migration (version, name, compatible_from) values ($1, $2, $3)`, [
    migration.version,
    migration.name,
    migration.compatibleFrom,
  ])
}

async function createMoves(client: pg.Client, schema: string, files: SqlFiles): Promise<void> {
  for (const sql of files.moves.values()) await client.query(inSchema(sql, schema))
  await client.query(
    `insert into "${schema}".moves_installed (digest) values ($1) on conflict (one) do update set digest = excluded.digest`,
    [movesDigest(files)],
  )
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({
    connectionString: checkedDatabaseUrl(url),
    application_name: 'fencepost migrate',
    connectionTimeoutMillis: connectMsMax,
  })
  client.on('error', () => {})
  try {
    await client.connect().catch((error: unknown) => {
      throw unreachable(error)
    })
    await requireServerVersion(client) // guard: migrator.server_version
    return await work(client)
  } catch (error) {
    throw catalogued(error)
  } finally {
    await client.end().catch(() => {})
  }
}

async function requireServerVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: string; name: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as name`,
  )
  if (Number(rows[0]?.number) < serverVersionMin) {
    throw new FencepostError('FP_DATABASE_UNSUPPORTED', `the server is PostgreSQL ${rows[0]?.name}`)
  }
}
