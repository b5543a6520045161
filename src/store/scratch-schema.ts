import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { unreachable } from './database-errors.js'
import { migrate } from './migrator.js'

/** The quoted name of another schema that goes with one of this name. */
type Companion = (schema: string) => string
const quoted: Companion = (schema) => pg.escapeIdentifier(schema)

/**
 * A schema for something that leaves nothing behind. A lock is held as long as it stands: what a killed process has left
 * is found by the lock that nobody holds, and dropped by the next one.
 */
export class ScratchSchema {
  readonly name: string
  /** The session that holds the lock. */
  readonly session: pg.Client
  readonly #kind: string
  readonly #companion: Companion

  private constructor(name: string, session: pg.Client, kind: string, companion: Companion) {
    this.name = name
    this.session = session
    this.#kind = kind
    this.#companion = companion
  }

  static async make(url: string, kind: 'lab' | 'bench', companion: Companion = quoted): Promise<ScratchSchema> {
    const session = new pg.Client({ connectionString: url, application_name: `fencepost ${kind}` })
    session.on('error', () => {})
    await session.connect().catch((error: unknown) => {
      throw unreachable(error)
    })
    const prefix = `fencepost_${kind}_`
    const scratch = new ScratchSchema(`${prefix}${randomBytes(6).toString('hex')}`, session, kind, companion)
    await scratch.#dropAbandoned(prefix)
    await session.query('select pg_advisory_lock(hashtext($1), hashtext($2))', [kind, scratch.name])
    try {
      await migrate({ url, schema: scratch.name })
      return scratch
    } catch (error) {
      await scratch.drop()
      throw error
    }
  }

  async drop(): Promise<void> {
    await this.#drop(this.name)
    await this.session.end()
  }

  async #drop(schema: string): Promise<void> {
    await this.session.query(`drop schema if exists ${quoted(schema)}, ${this.#companion(schema)} cascade`)
  }

  async #dropAbandoned(prefix: string): Promise<void> {
    const { rows } = await this.session.query<{ schema: string }>(
      `select nspname as schema from pg_namespace where nspname ~ $1`,
      [`^${prefix}[0-9a-f]{12}$`],
    )
    for (const { schema } of rows) {
      const lock = await this.session.query<{ free: boolean }>(
        'select pg_try_advisory_lock(hashtext($1), hashtext($2)) as free',
        [this.#kind, schema],
      )
      if (!lock.rows[0]?.free) continue
      await this.#drop(schema)
      await this.session.query('select pg_advisory_unlock(hashtext($1), hashtext($2))', [this.#kind, schema])
    }
  }
}
