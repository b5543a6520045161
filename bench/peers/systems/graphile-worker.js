/** Graphile Worker with what its guide on performance recommends: a local queue, and completions in batches. */
import { readFileSync } from 'node:fs'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { emptied } from './emptied.js'
import { inBatches } from './in-batches.js'

const schema = 'bench_graphile'
const logger = new Logger(() => () => {})
const { version } = JSON.parse(
  readFileSync(new URL('../node_modules/graphile-worker/package.json', import.meta.url), 'utf8'),
)

export async function open({ url }) {
  const utils = await makeWorkerUtils({ connectionString: url, schema, logger })
  await utils.migrate()
  const query = (text) => utils.withPgClient((client) => client.query(text))
  return {
    versions: { 'graphile-worker': version },
    settings:
      'addJobs of 1000, two at a time; localQueue, completeJobBatchDelay and failJobBatchDelay 0, 10 connections',
    fill: (count) =>
      inBatches(count, 1_000, (first, size) =>
        utils.addJobs(Array.from({ length: size }, (_, n) => ({ identifier: 'noop', payload: { n: first + n } }))),
      ),
    add: (n, data = { n }) => utils.addJob('noop', data),
    async work({ concurrency, localQueue = 0 }, handle) {
      const runner = await run({
        connectionString: url,
        schema,
        logger,
        concurrency,
        noHandleSignals: true,
        parsedCronItems: [],
        taskList: { noop: (data) => handle(data) },
        preset: {
          worker: {
            maxPoolSize: 10,
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            ...(localQueue > 0 && { localQueue: { size: localQueue } }),
          },
        },
      })
      return { stop: () => runner.stop() }
    },
    left: async () => Number((await query(`select count(*) as n from ${schema}.jobs`)).rows[0].n),
    clear: () => emptied(query, [`${schema}._private_jobs`]),
    drop: () => query(`drop schema ${schema} cascade`),
    close: () => utils.release(),
  }
}
