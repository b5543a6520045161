import type { Database } from './database.js'

/** Whether a server reads and writes the ledger of sends. */
export type Ledger = 'off' | 'read' | 'on'

export async function registerServer(
  db: Database,
  server: string,
  ledger: Ledger,
  deadMs: number,
): Promise<{ server: string; ledger: Ledger }[]> {
  return db.move('select * from fencepost.sqs_register($1, $2, $3)', () => [server, ledger, deadMs])
}

/** False if others took this server for dead. */
export async function seeServer(db: Database, server: string): Promise<boolean> {
  const rows = await db.move<{ known: boolean }>('select fencepost.sqs_see($1) as known', () => [server])
  return (rows[0] as (typeof rows)[0]).known
}

export async function retireServer(db: Database, server: string): Promise<void> {
  await db.move('delete from fencepost.sqs_server where id = $1', () => [server])
}
