/** The product as it is shipped. */
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { fencepost, task } from '../../../dist/src/index.js'
import { emptied } from './emptied.js'
import { inBatches } from './in-batches.js'

const anything = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } }
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
const tables = ['job', 'ready', 'waiting', 'leased', 'delayed', 'finished', 'attempt', 'gate', 'nudge', 'bench_effect']

export async function open({ url, schema = 'bench_fencepost' }) {
  const fp = await fencepost({ database: url, schema })
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  let handle = async () => {}
  const run = async (data, job) => {
    await handle(data, job)
    return null
  }
  const tasks = {
    noop: task('noop', { input: anything, run }),
    gated: task('gated', { input: anything, gate: { key: ({ group }) => group, limit: 2 }, run }),
    oneGate: task('one-gate', { input: anything, gate: { key: 'one', limit: 50 }, run }),
    commit: task('commit', {
      input: anything,
      run: (data, job) =>
        job.commit(async (tx) => {
          await handle(data)
          await tx.query(`insert into ${schema}.bench_effect values ($1)`, [job.id])
          return null
        }),
    }),
  }
  /** What the handlers of a gated job need to know, to see whether they are too many. */
  const inputs = {
    gated: (n, groups) => ({ n, group: `g${n % groups}`, limit: 2 }),
    oneGate: (n) => ({ n, group: 'one', limit: 50 }),
  }
  await pool.query(`create table if not exists ${schema}.bench_effect (job_id uuid primary key)`)
  const most = 5_000

  return {
    versions: { fencepost: version },
    settings: 'enqueueMany of 5000, two at a time; work({ concurrency }); 10 connections',
    fill: (jobs, { kind = 'noop', groups = 1 }) =>
      inBatches(jobs, most, (first, size) =>
        fp.enqueueMany(
          tasks[kind],
          Array.from({ length: size }, (_, n) => ({ input: inputs[kind]?.(first + n, groups) ?? { n: first + n } })),
        ),
      ),
    add: (n, data = { n }) => fp.enqueue(tasks.noop, data),
    // With an id of the caller's a call waits for no other: it is a statement and a transaction of its own.
    addAlone: (n) => fp.enqueue(tasks.noop, { n }, { id: uuidv7() }),
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
      emptied(
        (text) => pool.query(text),
        tables.map((name) => `${schema}.${name}`),
      ),
    /** What has ended, and nothing else: as `clear`, it leaves the pages of the tables. */
    async forget() {
      await pool.query(`with ended as (delete from ${schema}.finished returning job_id)
        delete from ${schema}.job j using ended e where j.id = e.job_id`)
      await pool.query(`vacuum (truncate off) ${tables.map((name) => `${schema}.${name}`).join(', ')}`)
    },
    drop: () => pool.query(`drop schema if exists ${schema} cascade`),
    async close() {
      await fp.close()
      await pool.end()
    },
  }
}
