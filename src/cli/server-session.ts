import { join } from 'node:path'
import { joinEmbeddedServer } from '../embedded/embedded-server.js'
import { FencepostError } from '../errors.js'
import { Database } from '../store/database.js'
import { migrate, requireSchema } from '../store/migrator.js'
import { checkedSchemaName } from '../store/schema-name.js'
import type { GlobalOptions } from './global-options.js'

export interface Server {
  readonly url: string
  readonly schema: string
  readonly embedded: boolean
}

/** Without the user and the password, which a URL may hold. */
export function serverText({ url, schema, embedded }: Server): string {
  const { hostname, port, pathname } = new URL(url)
  const where = embedded ? `embedded PostgreSQL on port ${port}` : `PostgreSQL ${hostname}:${port || 5432}${pathname}`
  return `${where}, schema ${schema}`
}

/** A person waits at the terminal: a database that has gone is reported soon, not after the workers' long patience. */
const databaseRetryMs = 3_000

/** The server that the options name, for as long as the work takes. */
export async function withServer<Result>(
  options: GlobalOptions,
  work: (server: Server) => Promise<Result>,
): Promise<Result> {
  const schema = checkedSchemaName(options.schema)
  if (options.database === '') {
    // Most likely an unset variable of the shell: falling back to another database would hide that.
    throw new FencepostError('FP_OPTION_INVALID', '--database is empty', {
      hint: 'Give it a postgres:// URL, or leave it out for DATABASE_URL or the embedded server.',
    })
  }
  const url = options.database ?? process.env['DATABASE_URL']
  if (url) return work({ url, schema, embedded: false })
  const server = await joinEmbeddedServer({ directory: join(process.cwd(), '.fencepost') })
  try {
    return await work({ url: server.url, schema, embedded: true })
  } finally {
    await server.leave()
  }
}

/**
 * The tables of that server, closed afterwards so that the process ends by itself. The embedded server belongs to this
 * project and is brought up to date; on any other, changing the schema is a decision: `fencepost migrate`.
 */
export function withDatabase<Result>(options: GlobalOptions, work: (db: Database) => Promise<Result>): Promise<Result> {
  return withServer(options, async ({ url, schema, embedded }) => {
    if (embedded) await migrate({ url, schema })
    else await requireSchema({ url, schema })
    const db = new Database({ url, schema, poolSize: 2, retryMs: databaseRetryMs, applicationName: 'fencepost cli' })
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  })
}
