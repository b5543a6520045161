import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { FencepostError } from '../errors.js'
import { defaults } from '../limits.js'
import {
  catalogued,
  isConnectionLost,
  isNotPrepared,
  isOutcomeUnknown,
  isRolledBackByServer,
  wasRefusedBefore,
} from './database-errors.js'
import { type Copies, copyIn } from './copy-in.js'
import { checkedDatabaseUrl } from './database-url.js'
import { limitedClient } from './limited-client.js'
import { Listener } from './listener.js'
import { checkedSchemaName, inSchema } from './schema-name.js'
import { transactionIdleMs, Transactions } from './transactions.js'

/** A connection or a transaction of the caller's: `pg`’s Client and PoolClient are ones. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

export interface DatabaseOptions {
  readonly url: string
  readonly schema?: string
  readonly poolSize?: number
  /** How long a move is repeated while the database is away. */
  readonly retryMs?: number
  readonly applicationName?: string
  /** A statement that takes longer is given up and repeated: the other end of a half-open connection never answers. */
  readonly statementMsMax?: number
  /** How time passes between two tries; tests make it pass at once. */
  readonly pause?: (ms: number) => Promise<void>
}

/** int8 (20) as a number: sequences and nonces stay below 2^53. */
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/**
 * The server does not wait for ever for what a client has yet to copy: not between two messages, and not on a connection whose
 * other end has gone without a word. A process that is stopped in the middle of a message it does wait for: its end answers.
 */
const notLeftOpen = `
  set local tcp_keepalives_idle = 10; set local tcp_keepalives_interval = 5; set local tcp_keepalives_count = 3;
  set local idle_in_transaction_session_timeout = ${transactionIdleMs}`
const pauseMsMax = 2_000
/** To find out whether moves can be prepared is a statement of its own: a process that makes a few moves saves it. */
const movesWorthPreparing = 10

/** The connections of one process to one schema, and the rules for a commit whose reply was lost. */
export class Database {
  readonly schema: string
  readonly #options: DatabaseOptions
  readonly #pool: pg.Pool
  readonly #retryMs: number
  readonly #pause: (ms: number) => Promise<void>
  readonly #names = new Map<string, string>()
  readonly #texts = new Map<string, string>()
  readonly #transactions: Transactions
  #closed = false
  #saysReadCommitted = false
  /** Undefined as long as nobody knows whether they can be. */
  #prepares: boolean | undefined
  #movesUnprepared = 0

  constructor(options: DatabaseOptions) {
    this.schema = checkedSchemaName(options.schema ?? defaults.schema)
    this.#options = options
    this.#retryMs = options.retryMs ?? defaults.databaseRetryMs
    this.#pause = options.pause ?? pause
    this.#pool = new pg.Pool({
      connectionString: checkedDatabaseUrl(options.url),
      max: options.poolSize ?? defaults.poolSize,
      application_name: options.applicationName ?? 'fencepost',
      connectionTimeoutMillis: 10_000,
      // A new session reads the catalogue and plans every move for the first time: 10 ms each.
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      // guard: database.statement_limit
      ...(options.statementMsMax !== undefined && { Client: limitedClient(options.statementMsMax) }),
      types,
    })
    this.#transactions = new Transactions({
      connect: (onError) => this.#connect(onError),
      read: (sql, values) => this.read(sql, values),
      retryMs: this.#retryMs,
      pause: this.#pause,
    })
    // An idle connection that the server closes is replaced when it is needed; without a listener it would be thrown.
    this.#pool.on('error', () => {})
  }

  /**
   * From now on every move of its own says READ COMMITTED: above it, which may be the database's or the role's default, a
   * move cannot look a second time: it admits nobody through a gate, and the repeat of a turn that has waited for its first try
   * does not see what that took.
   */
  sayReadCommitted(): void {
    this.#saysReadCommitted = true
  }

  /** Whether that has to be said. */
  async isAboveReadCommitted(): Promise<boolean> {
    const rows = await this.read<{ above: boolean }>(
      `select current_setting('transaction_isolation') <> 'read committed' as above`,
    )
    return rows[0]?.above ?? false
  }

  /**
   * From now on moves are prepared once per connection, not parsed and planned each time; but not behind a pooler, where
   * the next statement may meet another session than the one that prepared it: a pooler gives out numbers of its own. If
   * that cannot be found out, they are not: it is only faster. Those who do not call it get it after some moves.
   */
  async prepareMoves(): Promise<void> {
    const onError = () => {}
    const client = await this.#connect(onError).catch(() => undefined)
    try {
      const found = await client?.query<{ pid: number }>('select pg_backend_pid() as pid')
      if (found) this.#prepares = found.rows[0]?.pid === (client as { processID?: unknown }).processID
      client?.off('error', onError).release()
    } catch {
      client?.release(true)
    }
  }

  /** Connections of their own to the same schema, for those who must not wait behind others. */
  sibling(options: Partial<DatabaseOptions>): Database {
    return new Database({ ...this.#options, ...options })
  }

  /** Hears what is notified on a channel of this schema. */
  listen(
    channel: string,
    onNotice: (payload: string) => void,
    onError: (error: unknown) => void,
    url = this.#options.url,
  ): Listener {
    return new Listener(checkedDatabaseUrl(url), inSchema(channel, this.schema), onNotice, onError)
  }

  /**
   * Runs one statement that is a move and repeats it after a lost connection, a serialization failure or a deadlock:
   * moves are made to be repeated. `again` is true for a repeat. With a transaction of the caller's it runs there, once:
   * what follows an error is the caller's to decide. If a reply was lost and no repeat has told what became of the first
   * try, the error is FP_COMMIT_UNKNOWN. `first`: how the first try is made, if not by the statement; a transaction of the
   * caller's has no use for it.
   */
  async move<Row>(
    sql: string | ((again: boolean) => string),
    values: (again: boolean) => unknown[],
    tx?: Queryable,
    first?: () => Promise<void>,
  ): Promise<Row[]> {
    const text = (again: boolean) => this.#inSchema(typeof sql === 'string' ? sql : sql(again))
    if (tx) {
      try {
        return (await tx.query(text(false), values(false))).rows as Row[]
      } catch (error) {
        throw catalogued(error) // guard: database.once_in_tx
      }
    }
    let unknown = false
    try {
      const run = async (again: boolean) => {
        if (!first) return this.#runMove(text(again), values(again))
        // Of what was sent in parts the server may wait for the rest for as long as it believes in the connection.
        if (again) return this.#query({ text: text(true), values: values(true) }, this.#retryMs) // guard: database.copy_repeat
        await first()
        return { rows: [] }
      }
      return await this.#repeated<Row>(run, (error) => {
        unknown ||= isOutcomeUnknown(error) // guard: database.unknown
      })
    } catch (error) {
      // Bad data was bad in the first try, too.
      throw unknown && !wasRefusedBefore(error) // guard: database.refused
        ? new FencepostError('FP_COMMIT_UNKNOWN', undefined, { cause: error })
        : catalogued(error)
    }
  }

  /** The same, tried once: how it is repeated is the caller's to decide. FP_COMMIT_UNKNOWN: it may have been carried out. */
  async moveOnce<Row>(sql: string, values: unknown[]): Promise<Row[]> {
    try {
      return (await this.#runMove(this.#inSchema(sql), values)).rows as Row[]
    } catch (error) {
      // guard: database.once_unknown
      throw isOutcomeUnknown(error)
        ? new FencepostError('FP_COMMIT_UNKNOWN', undefined, { cause: error })
        : catalogued(error)
    }
  }

  /** Whether a move could be sent at once, on a connection that is there. */
  get hasIdleConnection(): boolean {
    return this.#pool.idleCount > 0
  }

  /** Runs one statement that changes nothing, and repeats it like a move. */
  async read<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    try {
      const text = inSchema(sql, this.schema)
      return await this.#repeated<Row>(
        () => this.#query({ text, values }),
        () => {},
      )
    } catch (error) {
      throw catalogued(error)
    }
  }

  async #repeated<Row>(
    run: (again: boolean) => Promise<{ rows: unknown[] }>,
    onError: (error: unknown) => void,
  ): Promise<Row[]> {
    const giveUpAt = Date.now() + this.#retryMs
    for (let tries = 0; ; tries++) {
      if (this.#closed) throw new FencepostError('FP_CLOSED') // guard: database.closed
      try {
        return (await run(tries > 0)).rows as Row[]
      } catch (error) {
        onError(error)
        // guard: database.repeat_rolled_back
        // guard: database.repeat_lost
        const repeat = isRolledBackByServer(error) || isConnectionLost(error)
        const pauseMs = Math.min(20 * 2 ** Math.min(tries, 20), pauseMsMax) * (0.5 + Math.random() / 2)
        if (!repeat || Date.now() + pauseMs > giveUpAt) throw error // guard: database.give_up
        await this.#pause(pauseMs)
      }
    }
  }

  async #runMove(text: string, values: unknown[]): Promise<pg.QueryResult> {
    if (!this.#prepares) {
      // Nobody waits for it.
      if (this.#prepares === undefined && ++this.#movesUnprepared % movesWorthPreparing === 0) void this.prepareMoves()
      return this.#query({ text, values })
    }
    try {
      return await this.#query({ text, values, name: this.#nameOf(text) })
    } catch (error) {
      if (!isNotPrepared(error)) throw error // guard: database.not_prepared
      this.#prepares = false
      return this.#query({ text, values })
    }
  }

  /** Made once for each of the texts of moves, of which there are a few. */
  #inSchema(sql: string): string {
    const known = this.#texts.get(sql)
    if (known !== undefined) return known
    const text = inSchema(sql, this.schema)
    this.#texts.set(sql, text)
    return text
  }

  /** Tells the move, for those who look at the connection; a digest keeps two texts of one move apart, wherever they meet. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const move = /"\.(\w+)/.exec(text)?.[1] ?? 'move'
    const name = `fencepost_${hash('sha1', text).slice(0, 10)}_${move.slice(0, 40)}`
    this.#names.set(text, name)
    return name
  }

  /** `lockMsMax`: it waits no longer than that for a lock. */
  async #query(query: pg.QueryConfig, lockMsMax?: number): Promise<pg.QueryResult> {
    if (!this.#saysReadCommitted && lockMsMax === undefined) return this.#pool.query(query) // guard: database.read_committed
    const limit = lockMsMax === undefined ? '' : `; set local lock_timeout = ${Math.min(lockMsMax, 2 ** 31 - 1)}`
    return this.#onOneConnection(async (client) => {
      await client.query(`${this.#begin}${limit}`)
      const result = await client.query(query)
      await client.query('commit')
      return result
    })
  }

  /**
   * A transaction that begins with a statement, copies into tables what follows from its answer, and commits with that. For the
   * first try of a move: an error is thrown as it comes.
   */
  async copy(begin: string, values: unknown[], copies: (row: unknown, schema: string) => Copies): Promise<void> {
    await this.#onOneConnection(async (client) => {
      await client.query(`${this.#begin}; ${notLeftOpen}`) // guard: database.copy_limits
      const { rows } = await client.query<object>(inSchema(begin, this.schema), values)
      await copyIn(client, copies(rows[0], this.schema))
    })
  }

  get #begin(): string {
    return this.#saysReadCommitted ? 'begin isolation level read committed' : 'begin'
  }

  async #onOneConnection<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    // A connection that breaks says so to the statement that waits for it, and besides: unheard, that ends the process.
    const onError = () => {}
    const client = await this.#connect(onError)
    let broken = true
    try {
      const result = await work(client)
      broken = false
      return result
    } finally {
      if (!broken) client.off('error', onError) // one that is broken may say so yet
      // guard: database.not_reused
      client.release(broken) // what it had begun ends with the connection
    }
  }

  /** One statement, once: for what must not be repeated blindly, such as checking the connection at start. */
  async once<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#pool.query(inSchema(sql, this.schema), values)).rows as Row[]
    } catch (error) {
      throw catalogued(error)
    }
  }

  /**
   * A transaction that we own. COMMIT is believed only if the server says COMMIT: after an error that was swallowed
   * inside, it answers ROLLBACK, without an error. If the reply is lost, the server is asked what became of it.
   */
  async transaction<Result>(work: (tx: pg.PoolClient) => Promise<Result>): Promise<Result> {
    return this.#transactions.run('', async (client, mark) => {
      const result = await work(client)
      await this.#transactions.commit(client, mark)
      return result
    })
  }

  /**
   * A transaction whose last statement, which is told the transaction's mark and the schema, is sent together with the COMMIT.
   * A lost reply is the caller's to resolve.
   */
  async transactionEndingWith(
    isolation: Isolation,
    work: (tx: pg.PoolClient) => Promise<void>,
    last: (mark: string, schema: string) => string,
  ): Promise<void> {
    await this.#transactions.run(` isolation level ${isolation}`, async (client, mark) => {
      await work(client)
      // If the transaction is aborted already, the statement fails, and nobody takes what COMMIT says for success.
      await client.query(`${last(mark, this.schema)}; commit`)
    })
  }

  /**
   * A connection of the caller's. Its errors are heard from the moment in which the pool gives it away: a server that shuts
   * down says so together with the reply to the caller before, and a promise would be told of the connection after that.
   */
  #connect(onError: (error: Error) => void): Promise<pg.PoolClient> {
    if (this.#closed) return Promise.reject(new FencepostError('FP_CLOSED')) // guard: database.connect_closed
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client) => {
        client?.on('error', onError)
        if (client) resolve(client)
        else reject(error)
      })
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#pool.end()
  }
}
