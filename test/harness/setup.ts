import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import type { Fence } from '../../src/job/places.js'
import { advanceLabClock } from '../../src/lab/lab-clock.js'
import { Database } from '../../src/store/database.js'
import { enqueue, type NewJob } from '../../src/store/enqueue.js'
import { type ClaimedLease, claim, start } from '../../src/store/lease.js'
import { readJob } from '../../src/store/read.js'
import { databaseUrl, templateName } from './test-server.js'

declare module 'vitest' {
  export interface ProvidedContext {
    serverUrl: string
  }
}

const makers = new Map<string, pg.Pool>()

/** One connection for all tests of a file, and another one after the server was away. */
function makerOf(serverUrl: string): pg.Pool {
  const known = makers.get(serverUrl)
  if (known) return known
  const maker = new pg.Pool({ connectionString: serverUrl, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  maker.on('error', () => {})
  makers.set(serverUrl, maker)
  return maker
}

/** A database of the test's own, cloned from the template, and short words for what tests do most. */
export async function setup(serverUrl = inject('serverUrl')) {
  const name = `t_${randomUUID().replaceAll('-', '')}`
  const maker = makerOf(serverUrl)
  // Two checkpoints, which cost little here, and a copy of files: half the time of copying page by page through the WAL.
  await maker.query(`create database ${name} template ${templateName} strategy file_copy`)
  const url = databaseUrl(serverUrl, name)
  const db = new Database({ url })
  onTestFinished(async () => {
    await db.close()
    await maker.query(`drop database ${name} with (force)`)
  })

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    onTestFinished(() => client.end().catch(() => {}))
    return client
  }
  const sql = <Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
    db.once<Row>(text, values)

  return {
    url,
    db,
    /** A connection of its own, for transactions and interleavings. */
    connect,
    sql,
    /** Sets the database's clock ahead. */
    advance: (ms: number) =>
      advanceLabClock({ query: (text, values) => sql(text, values).then((rows) => ({ rows })) }, 'fencepost', ms),
    /** Stores one job and answers its id. */
    async add(job: Partial<NewJob> = {}): Promise<string> {
      const made = aJob(job)
      await enqueue(db, [made])
      return made.id
    },
    /** Leases the next job, started unless asked otherwise. */
    async take(options: { worker?: string; started?: boolean; queue?: string } = {}): Promise<ClaimedLease> {
      const [lease] = await claim(db, { queue: options.queue ?? 'default', limit: 1, worker: options.worker ?? 'w1' })
      if (!lease) throw new Error('there was nothing to claim')
      if (options.started !== false) await start(db, [lease])
      return lease
    },
    /** Where the job is, and its counters. */
    async see(id: string) {
      const job = await readJob(db, id)
      if (!job) return undefined
      const { place, outcome, tries, failures, losses, releases, reason } = job
      return { place, outcome, tries, failures, losses, releases, reason }
    },
    /** In how many places the job is: one, always. */
    async placesOf(id: string): Promise<string[]> {
      const rows = await sql<{ place: string }>(
        ['ready', 'waiting', 'leased', 'delayed', 'parked', 'finished']
          .map((place) => `select '${place}' as place from fencepost.${place} where job_id = $1`)
          .join(' union all '),
        [id],
      )
      return rows.map((row) => row.place)
    },
  }
}

export function aJob(job: Partial<NewJob> = {}): NewJob {
  return {
    id: randomUUID(),
    task: 'test',
    payloadText: '{}',
    queue: 'default',
    priority: 0,
    delayMs: 0,
    failuresMax: 3,
    lossesMax: 2,
    leaseMs: 30_000,
    gatesText: null,
    ...job,
  }
}

/** The fence of another lease: same job, same lease, another nonce. */
export function forged(fence: Fence): Fence {
  return { ...fence, nonce: fence.nonce + 1 }
}
