import type { Session } from './session.js'

const waitMsMax = 4_000

/** Who waits for a lock of this type in this database: pg_locks tells of all, and tests run beside each other. */
export function waitersSql(locktype: 'advisory' | 'transactionid'): string {
  return `select l.pid from pg_locks l join pg_stat_activity a using (pid)
    where a.datname = current_database() and not l.granted and l.locktype = '${locktype}'`
}

/** Ask on a connection of its own, never on the one that is expected to wait. */
type Ask = <Row>(text: string, values: unknown[]) => Promise<Row[]>

/**
 * Returns when the backend waits for a lock that another one holds. Fails if it never does, and at once if the call
 * that is expected to wait has ended.
 */
export async function untilBlocked(sql: Ask, pid: number, call?: Promise<unknown>): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  call?.then(end, end)
  const giveUpAt = Date.now() + waitMsMax
  while (Date.now() < giveUpAt) {
    const rows = await sql<{ blocked: boolean }>('select cardinality(pg_blocking_pids($1)) > 0 as blocked', [pid])
    if (rows[0]?.blocked) return
    if (ended) throw new Error('it was expected to wait for a lock, and has ended')
  }
  throw new Error(`backend ${pid} does not wait for a lock`)
}

/** The same for a call that runs on some connection of a pool: returns when anyone waits for this session. */
export async function untilBlockedBy(sql: Ask, holder: Session): Promise<number> {
  const giveUpAt = Date.now() + waitMsMax
  while (Date.now() < giveUpAt) {
    const rows = await sql<{ pid: number }>('select pid from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [
      holder.pid,
    ])
    if (rows[0]) return rows[0].pid
  }
  throw new Error(`nobody waits for backend ${holder.pid}`)
}
