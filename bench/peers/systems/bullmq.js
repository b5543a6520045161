/** BullMQ on Redis, which does not write to disk before it answers; or on PostgreSQL. */
import { readFileSync } from 'node:fs'
import { createPostgresBackend, Queue, Worker } from 'bullmq'
import { inBatches } from './in-batches.js'

const queue = 'noop'
const { version } = JSON.parse(readFileSync(new URL('../node_modules/bullmq/package.json', import.meta.url), 'utf8'))

export async function open({ url, redisPort, on }) {
  const schema = 'bench_bullmq'
  const [connection, backend] =
    on === 'postgres'
      ? [{ connectionString: url, schema, migrate: true, max: 10 }, createPostgresBackend]
      : [{ host: '127.0.0.1', port: redisPort }, undefined]
  const jobs = new Queue(queue, { connection }, backend)
  await jobs.waitUntilReady()
  return {
    versions: { bullmq: version },
    settings: `addBulk of 1000, two at a time; Worker({ concurrency }), removeOnComplete; on ${on}`,
    fill: (count) =>
      inBatches(count, 1_000, (first, size) =>
        jobs.addBulk(
          Array.from({ length: size }, (_, n) => ({
            name: queue,
            data: { n: first + n },
            opts: { removeOnComplete: true },
          })),
        ),
      ),
    add: (n, data = { n }) => jobs.add(queue, data, { removeOnComplete: true }),
    async work({ concurrency }, handle) {
      const options = { connection, concurrency, removeOnComplete: { count: 0 } }
      const worker = new Worker(queue, ({ data }) => handle(data), options, backend)
      worker.on('error', () => {})
      await worker.waitUntilReady()
      return { stop: () => worker.close() }
    },
    async left() {
      const { waiting, active, delayed } = await jobs.getJobCounts('waiting', 'active', 'delayed')
      return waiting + active + delayed
    },
    clear: () => jobs.obliterate({ force: true }),
    drop: () => jobs.obliterate({ force: true }),
    close: () => jobs.close(),
  }
}
