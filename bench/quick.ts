/**
 * `npm run bench:quick`: the whole worker against a raw loop over the same functions, with the same batch and the same
 * number of connections, in interleaved rounds: what is told are ratios of one run, because machines differ and are
 * noisy. Also 5 ms handlers as a share of what their concurrency allows, and what a job costs the database.
 *
 *     npm run bench:quick [-- --jobs 20000 --rounds 3 --json]
 */
import { parseArgs } from 'node:util'
import { Database } from '../src/store/database.js'
import { takeTurn, type TurnLease } from '../src/store/turn.js'
import { measured, median, onServer, type Run, schema, workerRun } from './stage.js'

const { values: given } = parseArgs({
  options: {
    jobs: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
})
const jobsPerRun = Number(given.jobs)
const rounds = Number(given.rounds)
const say = given.json ? () => {} : (text: string) => console.log(text)

/** What the database allows: two connections that settle what they have claimed and claim again, and nothing else. */
async function rawRun(url: string, batch: number, jobs: number) {
  const db = new Database({ url, schema, poolSize: 2 })
  let [done, turns] = [0, 0]
  const begunAt = performance.now()
  const loop = async (worker: string) => {
    let leases: readonly TurnLease[] = []
    while (done < jobs) {
      const answer = await takeTurn(db, {
        worker,
        turn: ++turns,
        finish: leases.map(({ jobId, leaseId, nonce }) => ({ jobId, leaseId, nonce, resultText: 'null' })),
        fail: [],
        release: [],
        start: [],
        claim: { queues: [{ queue: 'default', limit: batch, starts: batch }], room: batch, suspect: true },
        tasks: ['noop'],
      })
      done += leases.length
      leases = answer.leases
    }
  }
  await Promise.all([loop('raw 1'), loop('raw 2')])
  const seconds = (performance.now() - begunAt) / 1_000
  await db.close()
  return { seconds, turns }
}

async function bench(url: string, db: Database) {
  const ratios = []
  for (const concurrency of [10, 100, 1_000]) {
    const [workers, raws]: [Run[], Run[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      const worker = await measured(db, jobsPerRun, () => workerRun(url, concurrency, jobsPerRun, 0))
      const raw = await measured(db, jobsPerRun, () => rawRun(url, Math.max(1, Math.round(worker.batch)), jobsPerRun))
      workers.push(worker)
      raws.push(raw)
      const rate = (run: Run) => `${Math.round(run.jobs / run.seconds)}/s`
      say(`concurrency ${concurrency}: worker ${rate(worker)} (batch ${Math.round(worker.batch)}), raw ${rate(raw)}`)
    }
    ratios.push({
      name: `no-op jobs at concurrency ${concurrency}, worker / raw loop`,
      value: median(workers.map((run, i) => (raws[i] as Run).seconds / run.seconds)),
      goal: 0.5,
      jobsPerSecond: Math.round(median(workers.map((run) => run.jobs / run.seconds))),
      rawPerSecond: Math.round(median(raws.map((run) => run.jobs / run.seconds))),
      batch: Math.round(median(workers.map((run) => run.batch))),
      walBytesPerJob: Math.round(median(workers.map((run) => run.walBytes / run.jobs))),
      statementsPerJob: median(workers.map((run) => 1 / run.batch)),
      commitsPerJob: median(workers.map((run) => run.commits / run.jobs)),
    })
  }
  const share = []
  for (let round = 0; round < rounds; round++) {
    const run = await measured(db, jobsPerRun, () => workerRun(url, 100, jobsPerRun, 5))
    share.push(((run.jobs / 100) * 0.005) / run.seconds)
  }
  ratios.push({ name: '5 ms jobs at concurrency 100, share of the ideal', value: median(share), goal: undefined })
  return ratios
}

const figures = await onServer(bench)
if (given.json) console.log(JSON.stringify({ figures }, null, 2))
else console.table(figures)
