import pg from 'pg'
import { Database, type Queryable } from '../../../src/store/database.js'
import { type Isolation, type Move, perform, type Row } from './move.js'

/** int8 (20) as a number, as `Database` reads it. */
const types = new pg.TypeOverrides()
types.setTypeParser(20, Number)

/**
 * A database of one connection, on which every move runs once: a deadlock or a serialization failure, which `Database`
 * would silently repeat, is an answer here. Whether a claim is a repeat is said by the move, not by a lost reply.
 */
export class Session extends Database {
  readonly #client: pg.Client
  readonly pid: number
  #again = false

  private constructor(url: string, client: pg.Client, pid: number) {
    super({ url, poolSize: 1 })
    this.#client = client
    this.pid = pid
  }

  static async open(url: string): Promise<Session> {
    const client = new pg.Client({ connectionString: url, types })
    client.on('error', () => {})
    await client.connect()
    await client.query(`set deadlock_timeout = '50ms'; set lock_timeout = '20s'`)
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return new Session(url, client, (rows[0] as { pid: number }).pid)
  }

  override move<Answer>(sql: string, values: (again: boolean) => unknown[], tx?: Queryable): Promise<Answer[]> {
    return super.move(sql, () => values(this.#again), tx ?? this.#client)
  }

  override moveOnce<Answer>(sql: string, values: unknown[]): Promise<Answer[]> {
    return this.move(sql, () => values)
  }

  /** In a transaction that is open here, or alone at the isolation that the move asks for. */
  async perform(move: Move, inTransaction = false): Promise<Row[]> {
    this.#again = move.kind === 'claim' && move.again
    if (inTransaction || move.kind !== 'enqueue' || move.isolation === 'read committed') return perform(this, move)
    await this.begin(move.isolation)
    const answer = await perform(this, move)
    return (await this.end('commit')) ?? answer
  }

  /** Above READ COMMITTED the first statement fixes what the transaction sees; it is made here. */
  async begin(isolation: Isolation): Promise<void> {
    await this.#client.query(`begin isolation level ${isolation}`)
    await this.#client.query('select count(*) from fencepost.job')
  }

  /** Answers with the error if the commit itself is refused. */
  async end(how: 'commit' | 'rollback'): Promise<Row[] | undefined> {
    try {
      await this.#client.query(how)
      return undefined
    } catch (error) {
      if ((error as { code?: string }).code === '40001') return [{ error: '40001' }]
      throw error
    }
  }

  async query<Answer>(sql: string, values: unknown[] = []): Promise<Answer[]> {
    return (await this.#client.query(sql, values)).rows as Answer[]
  }

  /** Whether that session waits for a lock now. */
  async isWaiting(other: Session): Promise<boolean> {
    const rows = await this.query('select 1 from pg_locks where pid = $1 and not granted', [other.pid])
    return rows.length > 0
  }

  override async close(): Promise<void> {
    await this.#client.end()
    await super.close()
  }
}
