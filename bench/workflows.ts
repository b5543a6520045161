/**
 * `npm run bench:workflows`: the items of a list, as jobs of a run, against the same jobs enqueued and run without a
 * workflow, in interleaved rounds; what an item costs in a long list and in a short one; and chains of tasks. What is told
 * are ratios of one run, and statements.
 *
 *     npm run bench:workflows [-- --items 10000 --long 100000 --chains 200 --rounds 3 --concurrency 100 --json]
 */
import { parseArgs } from 'node:util'
import { type Fencepost, fencepost, task, workflow } from '../src/index.js'
import type { Database } from '../src/store/database.js'
import { anything, median, onServer, schema } from './stage.js'

const { values: given } = parseArgs({
  options: {
    items: { type: 'string', default: '10000' },
    long: { type: 'string', default: '100000' },
    chains: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
  },
})
const items = Number(given.items)
const long = Number(given.long)
const chains = Number(given.chains)
const rounds = Number(given.rounds)
const concurrency = Number(given.concurrency)
const say = given.json ? () => {} : (text: string) => console.log(text)

const noop = task('noop', { input: anything, run: () => null })

const fan = (limit: number | undefined) =>
  workflow(limit === undefined ? 'fan' : 'fan-limited', {
    parameters: { n: 'integer' },
    tasks: {
      each: {
        action: noop,
        withItems: '{{ range(0, parameters.n) }}',
        ...(limit !== undefined && { concurrency: limit }),
        input: { n: '{{ item }}' },
      },
    },
  })
const fans = { limited: fan(100), free: fan(undefined) }

const links = Array.from({ length: 10 }, (_, n) => n)
const chain = workflow('chain', {
  tasks: Object.fromEntries(
    links.map((n) => [`t${n}`, { action: noop, input: { n }, next: n < 9 ? [{ do: [`t${n + 1}`] }] : [] }]),
  ),
})

/** A worker, while the work is done; the tables are empty before it. */
async function timed(url: string, db: Database, work: (fp: Fencepost) => Promise<unknown>) {
  await db.once(
    `truncate fencepost.job, fencepost.ready, fencepost.waiting, fencepost.leased, fencepost.finished, fencepost.attempt,
       fencepost.gate, fencepost.nudge, fencepost.run, fencepost.task_run, fencepost.inbox, fencepost.call`,
  )
  await db.once('vacuum analyze fencepost.ready, fencepost.waiting, fencepost.job, fencepost.finished, fencepost.inbox')
  await db.once('checkpoint')
  const fp = await fencepost({ database: url, schema, migrate: false })
  const worker = await fp.work([noop], { concurrency })
  await fp.workflows.deploy(chain)
  const before = await statements(db)
  const begunAt = performance.now()
  await work(fp)
  const seconds = (performance.now() - begunAt) / 1_000
  const after = await statements(db)
  const { turns } = worker
  await fp.close()
  return { seconds, commits: after.commits - before.commits, wal: after.wal - before.wal, turns }
}

async function statements(db: Database): Promise<{ commits: number; wal: number }> {
  const [row] = await db.once<{ commits: string; wal: string }>(
    `select (select xact_commit::text from pg_stat_database where datname = current_database()) as commits,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal`,
  )
  return { commits: Number(row?.commits), wal: Number(row?.wal) }
}

async function plain(fp: Fencepost, count: number): Promise<void> {
  let done = 0
  const ended = new Promise<void>((resolve) => {
    fp.on('finished', () => {
      if (++done === count) resolve()
    })
  })
  for (let n = 0; n < count; n += 5_000) {
    const some = Array.from({ length: Math.min(5_000, count - n) }, (_, i) => ({ input: { n: n + i } }))
    await fp.enqueueMany(noop, some)
  }
  await ended
}

const run = async (fp: Fencepost, which: keyof typeof fans, n: number) => {
  await (await fp.workflows.start(fans[which], { n })).result()
}

async function bench(url: string, db: Database) {
  const seconds = { plain: [] as number[], limited: [] as number[], free: [] as number[] }
  const each = { short: [] as number[], long: [] as number[] }
  const chained: { runs: number; commits: number }[] = []
  for (let round = 0; round < rounds; round++) {
    seconds.plain.push((await timed(url, db, (fp) => plain(fp, items))).seconds)
    for (const which of ['limited', 'free'] as const) {
      seconds[which].push((await timed(url, db, (fp) => run(fp, which, items))).seconds)
    }
    const some = Math.max(1, Math.round(long / 1_000 / 10))
    const shortOnes = async (fp: Fencepost) => {
      for (let n = 0; n < some; n++) await run(fp, 'limited', 1_000)
    }
    each.short.push((await timed(url, db, shortOnes)).seconds / some / 1_000)
    each.long.push((await timed(url, db, (fp) => run(fp, 'limited', long))).seconds / long)
    const all = await timed(url, db, (fp) =>
      Promise.all(Array.from({ length: chains }, async () => (await fp.workflows.start(chain, {})).result())),
    )
    chained.push({ runs: chains / all.seconds, commits: all.commits / chains / 10 })
    const rate = (which: keyof typeof seconds) => `${Math.round(items / (seconds[which][round] as number))}/s`
    say(`plain ${rate('plain')}, items ${rate('limited')}, without a limit ${rate('free')}`)
  }
  const share = (which: 'limited' | 'free') => median(seconds[which].map((s, n) => (seconds.plain[n] as number) / s))
  return [
    { name: `${items} items, 100 at a time: share of the plain jobs/s`, value: share('limited'), goal: 0.4 },
    { name: `${items} items, all at once: share of the plain jobs/s`, value: share('free') },
    {
      name: `time per item, ${long} items against 1000`,
      value: median(each.long.map((s, n) => s / (each.short[n] as number))),
      goal: 1.3,
    },
    { name: 'chains of 10 tasks: runs/s', value: median(chained.map(({ runs }) => runs)) },
    { name: 'chains of 10 tasks: commits per task', value: median(chained.map(({ commits }) => commits)) },
  ]
}

const figures = await onServer(bench)
if (given.json) console.log(JSON.stringify({ figures }, null, 2))
else console.table(figures)
