/** pg-boss by its own API: `work`, or its documented loop of fetch and complete. */
import { readFileSync } from 'node:fs'
import { PgBoss } from 'pg-boss'
import { emptied } from './emptied.js'
import { inBatches } from './in-batches.js'

const schema = 'bench_pg_boss'
const queue = 'noop'
const { version } = JSON.parse(readFileSync(new URL('../node_modules/pg-boss/package.json', import.meta.url), 'utf8'))

export async function open({ url }) {
  const boss = new PgBoss({ connectionString: url, schema, max: 10, supervise: false, schedule: false })
  await boss.start()
  await boss.createQueue(queue)
  const query = (text) => boss.getDb().executeSql(text)
  return {
    versions: { 'pg-boss': version },
    settings:
      'insert of 1000, two at a time; fetch and complete in 4 loops, or work() with its shortest polling; 10 connections',
    fill: (count) =>
      inBatches(count, 1_000, (first, size) =>
        boss.insert(
          queue,
          Array.from({ length: size }, (_, n) => ({ data: { n: first + n } })),
        ),
      ),
    add: (n, data = { n }) => boss.send(queue, data),
    work: ({ concurrency, batch, by = 'fetch' }, handle) =>
      by === 'work' ? worked(concurrency, handle) : fetched(concurrency, batch, handle),
    left: async () =>
      Number((await query(`select count(*) as n from ${schema}.job where state < 'completed'`)).rows[0].n),
    clear: () => emptied(query, [`${schema}.job`]),
    drop: () => query(`drop schema ${schema} cascade`),
    close: () => boss.stop({ graceful: false }),
  }

  async function worked(concurrency, handle) {
    await boss.work(queue, { batchSize: concurrency, pollingIntervalSeconds: 0.5 }, (jobs) =>
      Promise.all(jobs.map(({ data }) => handle(data))),
    )
    return { stop: () => boss.offWork(queue, { wait: true }) }
  }

  /** At most `concurrency` handlers at a time, over four loops. */
  function fetched(concurrency, batch = Math.max(1, Math.floor(concurrency / 4)), handle) {
    const line = { stopping: false }
    const loop = async () => {
      while (!line.stopping) {
        const jobs = await boss.fetch(queue, { batchSize: batch })
        if (jobs.length === 0) continue
        await Promise.all(jobs.map(({ data }) => handle(data)))
        await boss.complete(
          queue,
          jobs.map(({ id }) => id),
        )
      }
    }
    const loops = Array.from({ length: Math.min(4, concurrency) }, loop)
    return {
      stop: async () => {
        line.stopping = true
        await Promise.all(loops)
      },
    }
  }
}
