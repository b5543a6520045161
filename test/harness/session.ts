import type pg from 'pg'
import { Database, type Queryable } from '../../src/store/database.js'

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'
export const isolations: readonly Isolation[] = ['read committed', 'repeatable read', 'serializable']
export const aboveReadCommitted: readonly Isolation[] = ['repeatable read', 'serializable']

/** What a call that must not wait says instead of hanging: 55P03. */
const lockMsMax = 4_000

/** A database of one connection: every move and every read runs there, once, and in the transaction that is open there, if one is. */
export class Session extends Database {
  /** Moves say that they are repeats of a call whose reply was lost. */
  again = false
  readonly client: pg.Client

  private constructor(url: string, client: pg.Client) {
    super({ url })
    this.client = client
  }

  static async open({ url, connect }: { url: string; connect: () => Promise<pg.Client> }): Promise<Session> {
    const client = await connect()
    client.setTypeParser(20, Number) // int8, as `Database` reads it
    await client.query(`set lock_timeout = ${lockMsMax}`)
    return new Session(url, client)
  }

  get pid(): number {
    return (this.client as unknown as { processID: number }).processID
  }

  override move<Row>(sql: string, values: (again: boolean) => unknown[], tx?: Queryable): Promise<Row[]> {
    return super.move(sql, () => values(this.again), tx ?? this.client)
  }

  override moveOnce<Row>(sql: string, values: unknown[]): Promise<Row[]> {
    return this.move(sql, () => values)
  }

  override read<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return this.move(sql, () => values)
  }

  async begin(isolation: Isolation = 'read committed'): Promise<void> {
    await this.client.query(`begin isolation level ${isolation}`)
  }

  /** What the server says: after an error inside, it is ROLLBACK. */
  async commit(): Promise<string> {
    return (await this.client.query('commit')).command
  }

  async rollback(): Promise<void> {
    await this.client.query('rollback')
  }

  async query<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.client.query(text, values)).rows as Row[]
  }
}
