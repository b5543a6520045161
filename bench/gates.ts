/**
 * `npm run bench:gates`: no-op jobs behind gates against the same jobs without, in interleaved rounds; and one gate with
 * a short and a very long line before it. What is told are ratios of one run.
 *
 *     npm run bench:gates [-- --jobs 20000 --rounds 3 --concurrency 100 --concurrency 1000 --backlog 1000000 --json]
 */
import { parseArgs } from 'node:util'
import type { Database } from '../src/store/database.js'
import { measured, median, onServer, type Run, workerRun } from './stage.js'

const { values: given } = parseArgs({
  options: {
    jobs: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    backlog: { type: 'string', default: '1000000' },
    concurrency: { type: 'string', multiple: true, default: ['100', '1000'] },
    json: { type: 'boolean', default: false },
  },
})
const jobs = Number(given.jobs)
const rounds = Number(given.rounds)
const concurrencies = given.concurrency.map(Number)
const say = given.json ? () => {} : (text: string) => console.log(text)

const gate = (keys: number, limit: number) =>
  `jsonb_build_array(jsonb_build_object('key', 'gate:' || (i % ${keys}), 'limit', ${limit}, 'onFull', 'wait'))`
const variants = [
  { name: '1000 keys with limit 2', gates: gate(1_000, 2) },
  { name: '20 keys with limit 50', gates: gate(20, 50) },
  { name: 'a key for every job', gates: gate(1_000_000_000, 1) },
]

async function bench(url: string, db: Database) {
  const figures = []
  for (const concurrency of concurrencies) figures.push(...(await shares(url, db, concurrency)))

  const few = Math.min(jobs, 5_000)
  const line = (waiting: number) =>
    measured(db, waiting, async () => ({ ...(await workerRun(url, 100, few)), jobs: few }), gate(1, 10))
  const [short, long]: [Run[], Run[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    short.push(await line(few + 1_000))
    long.push(await line(Number(given.backlog)))
    say(`one key with limit 10: a short line ${short[round]?.seconds} s, a long one ${long[round]?.seconds} s`)
  }
  figures.push({
    name: `one key with limit 10, ${given.backlog} waiting: time per job against 1000 waiting`,
    value: median(long.map((run, round) => run.seconds / (short[round] as Run).seconds)),
    goal: 1,
    walBytesPerJob: Math.round(median(long.map((run) => run.walBytes / run.jobs))),
    walBytesWithout: Math.round(median(short.map((run) => run.walBytes / run.jobs))),
    batch: Math.round(median(long.map((run) => run.batch))),
  })
  return figures
}

async function shares(url: string, db: Database, concurrency: number) {
  const drain = (gates?: string) => measured(db, jobs, () => workerRun(url, concurrency, jobs), gates)
  const free: Run[] = []
  const gated: Run[][] = variants.map(() => [])
  for (let round = 0; round < rounds; round++) {
    free.push(await drain())
    for (const [i, { gates }] of variants.entries()) gated[i]?.push(await drain(gates))
    const rate = (run: Run | undefined) => `${Math.round((run as Run).jobs / (run as Run).seconds)}/s`
    const rates = variants.map(({ name }, i) => `, ${name} ${rate(gated[i]?.[round])}`)
    say(`concurrency ${concurrency}: without ${rate(free[round])}${rates.join('')}`)
  }
  return variants.map(({ name }, i) => ({
    name: `${name}, concurrency ${concurrency}: share of the jobs/s without gates`,
    value: median((gated[i] as Run[]).map((run, round) => (free[round] as Run).seconds / run.seconds)),
    goal: i < 2 ? 0.5 : undefined,
    walBytesPerJob: Math.round(median((gated[i] as Run[]).map((run) => run.walBytes / run.jobs))),
    walBytesWithout: Math.round(median(free.map((run) => run.walBytes / run.jobs))),
    batch: Math.round(median((gated[i] as Run[]).map((run) => run.batch))),
  }))
}

const figures = await onServer(bench)
if (given.json) console.log(JSON.stringify({ figures }, null, 2))
else console.table(figures)
