/** DBOS: each job is a workflow on a queue, without steps. Enqueued by its client, so that nothing runs before a worker does. */
import { readFileSync } from 'node:fs'
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'
import pg from 'pg'
import { emptied } from './emptied.js'
import { inBatches } from './in-batches.js'

const schema = 'bench_dbos'
const queueName = 'noop'
const options = { queueName, workflowName: 'noop', appVersion: 'bench' }
const { version } = JSON.parse(
  readFileSync(new URL('../node_modules/@dbos-inc/dbos-sdk/package.json', import.meta.url), 'utf8'),
)

export async function open({ url }) {
  const silent = { info() {}, debug() {}, warn() {}, error() {} }
  let handle = async () => {}
  DBOS.registerWorkflow((data) => handle(data), { name: 'noop' })
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    systemDatabaseSchemaName: schema,
    systemDatabasePoolSize: 20,
    applicationVersion: 'bench',
    logger: silent,
  })
  await DBOS.launch() // makes its tables
  await DBOS.shutdown()
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    systemDatabaseSchemaName: schema,
    systemDatabasePoolSize: 20,
    applicationName: 'bench',
    logger: silent,
  })
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  return {
    versions: { dbos: version },
    settings:
      'enqueueInTransaction, 1000 in a transaction, two at a time; workerConcurrency, polling every 10 ms; 20 connections',
    fill: (count) =>
      inBatches(count, 1_000, async (first, size) => {
        const tx = await pool.connect()
        await tx.query('begin')
        await Promise.all(
          Array.from({ length: size }, (_, n) => client.enqueueInTransaction(tx, options, { n: first + n })),
        )
        await tx.query('commit')
        tx.release()
      }),
    add: (n, data = { n }) => client.enqueue(options, data),
    async work({ concurrency }, handler) {
      handle = handler
      const polling = { minPollingIntervalMs: 10, onConflict: 'always_update' }
      await client.registerQueue(queueName, { workerConcurrency: concurrency, ...polling })
      await DBOS.launch()
      return { stop: () => DBOS.shutdown({ workflowCompletionTimeoutMS: 60_000 }) }
    },
    async left() {
      const { rows } = await pool.query(
        `select count(*) as n from ${schema}.workflow_status where status in ('PENDING', 'ENQUEUED')`,
      )
      return Number(rows[0].n)
    },
    clear: () => emptied((text) => pool.query(text), [`${schema}.workflow_status`]),
    drop: () => pool.query(`drop schema ${schema} cascade`),
    async close() {
      await client.destroy()
      await pool.end()
    },
  }
}
