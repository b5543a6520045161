/** The product as it is shipped. */
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { fencepost, task } from '../../../dist/src/index.js'
import { inBatches } from './in-batches.js'

const schema = 'bench_fencepost'
const anything = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } }
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
const tables = 'job, ready, waiting, leased, delayed, finished, attempt, gate, nudge'

export async function open({ url }) {
  const fp = await fencepost({ database: url, schema })
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  let handle = async () => {}
  const run = async (data, job) => {
    await handle(data, job)
    return null
  }
  const noop = task('noop', { input: anything, run })
  const gated = task('gated', { input: anything, gate: { key: ({ group }) => group, limit: 2 }, run })
  const inTransaction = task('commit', {
    input: anything,
    run: (data, job) =>
      job.commit(async (tx) => {
        await handle(data)
        await tx.query(`insert into ${schema}.bench_effect values ($1)`, [job.id])
        return null
      }),
  })
  await pool.query(`create table if not exists ${schema}.bench_effect (job_id uuid primary key)`)
  const tasks = { noop, gated, commit: inTransaction }
  const most = 5_000

  const fill = (jobs) =>
    inBatches(jobs, most, (first, size) =>
      fp.enqueueMany(
        noop,
        Array.from({ length: size }, (_, n) => ({ input: { n: first + n } })),
      ),
    )

  return {
    versions: { fencepost: version },
    settings: 'enqueueMany of 5000, two at a time; work({ concurrency })',
    fill,
    add: (n, data = { n }) => fp.enqueue(noop, data),
    async work({ concurrency }, handler) {
      handle = handler
      const worker = await fp.work(Object.values(tasks), { concurrency })
      return { stop: () => worker.stop() }
    },
    async left() {
      const places = ['ready', 'waiting', 'leased', 'delayed'].map(
        (place) => `(select count(*) from ${schema}.${place})`,
      )
      const { rows } = await pool.query(`select ${places.join(' + ')} as n`)
      return Number(rows[0].n)
    },
    clear: () =>
      pool.query(`truncate ${tables.replaceAll(/\w+/g, (name) => `${schema}.${name}`)}, ${schema}.bench_effect`),
    async close() {
      await fp.close()
      await pool.query(`drop schema ${schema} cascade`)
      await pool.end()
    },
  }
}
