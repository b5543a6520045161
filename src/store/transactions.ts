import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { FencepostError } from '../errors.js'
import { catalogued, isConnectionLost } from './database-errors.js'

export const transactionIdleMs = 60_000
/** A setting that lives as long as the transaction: it tells whether that is still the one we began. */
const transactionMark = 'fencepost.transaction'

export interface TransactionsOptions {
  /** A connection whose errors are heard from the first moment. */
  readonly connect: (onError: (error: Error) => void) => Promise<pg.PoolClient>
  readonly read: <Row>(sql: string, values: unknown[]) => Promise<Row[]>
  /** How long the server is asked what became of a commit. */
  readonly retryMs: number
  readonly pause: (ms: number) => Promise<void>
}

/** Transactions in which a caller's work is done, and what became of a COMMIT whose reply was lost. */
export class Transactions {
  readonly #options: TransactionsOptions

  constructor(options: TransactionsOptions) {
    this.#options = options
  }

  /** `mode`: what follows BEGIN. `work` ends the transaction itself, and is told its mark. */
  async run<Result>(mode: string, work: (client: pg.PoolClient, mark: string) => Promise<Result>): Promise<Result> {
    let broken: Error | undefined
    const onError = (error: Error) => {
      broken = error
    }
    const client = await this.#options.connect(onError).catch((error: unknown) => {
      throw catalogued(error)
    })
    try {
      const mark = randomUUID()
      await client.query(
        // guard: transactions.idle_limit
        `begin${mode}; set local idle_in_transaction_session_timeout = ${transactionIdleMs}; set local ${transactionMark} = '${mark}'`,
      )
      return await work(client, mark)
    } catch (error) {
      await client.query('rollback').catch((rollbackError: Error) => {
        // guard: transactions.rollback
        broken ??= rollbackError
      })
      // A broken connection may also be one of the work's own, to somewhere else: then ours is whole.
      // guard: transactions.own_connection
      throw error instanceof pg.DatabaseError || (broken && isConnectionLost(error)) ? catalogued(error) : error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  /** COMMIT is believed only if the server says COMMIT; if the reply is lost, the server is asked what became of it. */
  async commit(client: pg.PoolClient, begunWith: string): Promise<void> {
    const { xid, mark } = await transactionNow(client)
    // The work has said COMMIT or ROLLBACK itself: our COMMIT would be a mere warning, and look like success.
    if (mark !== begunWith) throw new FencepostError('FP_TRANSACTION_ENDED') // guard: transactions.still_ours
    let command: string
    try {
      command = (await client.query('commit')).command
    } catch (error) {
      if (!isConnectionLost(error)) throw error
      // guard: transactions.nothing_written
      if (xid === null) return // nothing was written, so nothing can have been lost
      const fate = await this.#fateOf(xid)
      if (fate === 'committed') return // guard: transactions.fate_committed
      if (fate === 'aborted')
        // guard: transactions.fate_aborted
        throw new FencepostError('FP_DATABASE_UNREACHABLE', 'the transaction was rolled back', { cause: error })
      throw new FencepostError('FP_COMMIT_UNKNOWN', undefined, { cause: error })
    }
    if (command !== 'COMMIT') throw new FencepostError('FP_TRANSACTION_ROLLED_BACK') // guard: transactions.says_commit
  }

  /** Asks until the transaction is over: a backend whose client has gone may still be about to commit. */
  async #fateOf(xid: string): Promise<'committed' | 'aborted' | undefined> {
    const giveUpAt = Date.now() + this.#options.retryMs
    while (Date.now() < giveUpAt) {
      const rows = await this.#options
        .read<{ fate: string | null }>('select pg_xact_status($1::xid8) as fate', [xid])
        .catch(() => [])
      const fate = rows[0]?.fate
      if (fate === 'committed' || fate === 'aborted') return fate // guard: transactions.fate_in_progress
      if (fate === null) return undefined
      await this.#options.pause(50)
    }
    return undefined
  }
}

interface TransactionNow {
  /** Null if it has written nothing. */
  readonly xid: string | null
  readonly mark: string | null
}

/** Fails in a transaction that is aborted: that must not get as far as COMMIT, which would answer ROLLBACK. */
async function transactionNow(client: pg.PoolClient): Promise<TransactionNow> {
  const { rows } = await client.query<TransactionNow>(
    `select pg_current_xact_id_if_assigned()::text as xid, current_setting('${transactionMark}', true) as mark`,
  )
  return rows[0] as TransactionNow
}
