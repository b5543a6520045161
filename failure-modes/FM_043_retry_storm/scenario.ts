import { verdictOf } from '../../src/job/verdict.js'
import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'
import { promoteDue } from '../../src/store/control.js'
import { start } from '../../src/store/lease.js'
import { fail, finish } from '../../src/store/settle.js'
import { retryPolicy } from '../../src/task/retry-policy.js'

const calls = 6
/** How many of them may fall due within a second. */
const inStepMax = calls / 3

/** In place of Math.random(): the same for each play, and spread as evenly. */
const drawn = (n: number) => (n * 0.618_034) % 1

/** All of them fail at once, and are to be tried again; answers how many at most fall due within one second. */
async function failAll(worker: Actor): Promise<string> {
  await promoteDue(worker.db)
  const leases = await worker.claimMany(calls)
  if (leases.length === 0) return 'nothing to claim'
  await start(worker.db, leases)
  const policy = retryPolicy({ delay: '1m', ...(worker.naive ? { backoff: 'fixed', jitter: 0 } : {}) })
  const failures = leases.map((lease, n) => {
    const { error, ...verdict } = verdictOf(new Error('the API is down'), policy, lease.failures + 1, drawn(n))
    return { ...lease, ...verdict, errorText: JSON.stringify(error) }
  })
  await fail(worker.db, failures)
  const [most] = await worker.sql<{ n: number }>(
    `select max(n)::integer as n from (
       select count(*) over (order by d.due_at range between current row and interval '1 s' following) as n
       from fencepost.delayed d) s`,
  )
  return `${leases.length} failed, ${most?.n} due within a second`
}

async function doAll(worker: Actor): Promise<string> {
  await promoteDue(worker.db)
  const leases = await worker.claimMany(calls)
  await start(worker.db, leases)
  await worker.sql('insert into fencepost.lab_effect (job_id, by) select id, $2 from unnest($1::uuid[]) as id', [
    leases.map(({ jobId }) => jobId),
    worker.name,
  ])
  await finish(
    worker.db,
    leases.map((lease) => ({ ...lease, resultText: '"done"' })),
  )
  return `${leases.length} done`
}

export default scenario({
  id: 'FM_043',
  name: 'Retry storm',
  story: 'An API is down and all calls fail in the same moment; they come again in the same moment, and again.',
  invariants: [],
  jobs: calls,
  steps: [
    step('producer', `enqueues ${calls} calls of an API`, (p) => p.enqueue()),
    step('A', 'runs them all: the API is down', failAll),
    timePasses('all are due', 61_000),
    step('A', 'runs them again: it is still down', failAll),
    timePasses('all are due again', 121_000),
    step('B', 'runs them: the API is back', doAll),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const most = ['runs them all: the API is down', 'runs them again: it is still down']
      .map((does) => /(\d+) due/.exec(found.notes.get(`A: ${does}`) ?? '')?.[1])
      .map(Number)
    return [
      ...most
        .filter((n) => n > inStepMax)
        .map((n) => `unbounded load: ${n} of ${calls} calls come again within the same second`),
      ...(await found.usualSuspects()),
    ]
  },
})
