import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { hasCode } from './failure-code.js'

const user = 'fencepost'
const database = 'fencepost'
const connectMsMax = 10_000
const pollMs = 50

export interface ClusterAddress {
  readonly port: number
  readonly password: string
}

export function clusterUrl({ port, password }: ClusterAddress): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/${database}`
}

/** Whether a server there accepts our password. The password is random, so it is ours and no other. */
export async function answers(address: ClusterAddress): Promise<boolean> {
  try {
    await query(address, 'postgres', 'select 1')
    return true
  } catch {
    return false
  }
}

/** Waits until the server accepts connections, and creates the database at the first time. */
export async function ensureDatabase(address: ClusterAddress, deadline: number): Promise<void> {
  for (;;) {
    try {
      return await query(address, database, 'select 1')
    } catch (error) {
      // 57P03: starting up, or recovering from the crash of a backend.
      if (hasCode(error, '57P03') && Date.now() < deadline) await pause(pollMs)
      else if (hasCode(error, '3D000')) await createDatabase(address)
      else throw error
    }
  }
}

async function createDatabase(address: ClusterAddress): Promise<void> {
  try {
    await query(address, 'postgres', `create database ${database}`)
  } catch (error) {
    // Another process was faster: 42P04 when it is done, 23505 when it was at it at the same time.
    if (!hasCode(error, '42P04', '23505')) throw error
  }
}

async function query({ port, password }: ClusterAddress, name: string, sql: string): Promise<void> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user,
    password,
    database: name,
    // PGSSLMODE=require in the environment is meant for another server: this one has no certificate.
    ssl: false,
    connectionTimeoutMillis: connectMsMax,
  })
  // A connection lost between two calls is an event, and without a listener it ends the process.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end().catch(() => {})
  }
}
