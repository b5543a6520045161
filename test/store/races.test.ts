import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel, promoteDue, retryEnded, wake } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim, extend, type Lease, loseExpired, start } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

/** A small generator, so that a run can be told by its seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const seed = Number(process.env['FENCEPOST_SEED'] ?? 20_260_101)
const jobCount = 60

it(`keeps every job in one place, counts right and never deadlocks, whatever races (seed ${seed})`, async () => {
  const bundle = await setup()
  const jobs = Array.from({ length: jobCount }, (_, i) =>
    aJob({ priority: i % 3, failuresMax: 6, lossesMax: 6, leaseMs: 1_000, delayMs: i % 5 === 0 ? 500 : 0 }),
  )
  await enqueue(bundle.db, jobs)
  const ids = jobs.map(({ id }) => id)
  let peopleAtWork = 2
  const unsettled = async () => {
    const [row] = await bundle.sql<{ n: number }>('select count(*) as n from fencepost.finished')
    return peopleAtWork > 0 || (row?.n ?? 0) < jobCount
  }

  const worker = async (n: number) => {
    const session = await Session.open(bundle)
    const random = randomFrom(seed + n)
    const late: Lease[] = []
    for (let turn = 1; await unsettled(); turn++) {
      const leases = await claim(session, { queue: 'default', limit: 4, worker: `w${n}`, turn })
      await start(
        session,
        leases.filter(() => random() < 0.8),
      )
      await extend(session, leases)
      // Some come in the wrong order, some come twice, some come late, some never come.
      const said = [...leases, ...late.splice(0)].filter(() => random() < 0.9).reverse()
      late.push(...leases.filter(() => random() < 0.3))
      const [good, bad, back, rest] = [said.slice(0, 2), said.slice(2, 3), said.slice(3, 4), said.slice(4)]
      if (good.length > 0)
        await finish(
          session,
          good.map((lease) => ({ ...lease, resultText: '1' })),
        )
      if (bad.length > 0)
        await fail(
          session,
          bad.map((lease) => ({ ...lease, errorText: '1', delayMs: 100, final: false })),
        )
      if (back.length > 0) await release(session, back, 'x')
      for (const lease of rest) await park(session, lease, 'go', 300)
    }
  }
  const maintenance = async () => {
    const session = await Session.open(bundle)
    while (await unsettled()) {
      await bundle.advance(200)
      await promoteDue(session)
      await loseExpired(session)
    }
  }
  const people = async () => {
    const session = await Session.open(bundle)
    const random = randomFrom(seed)
    const some = () => ids.filter(() => random() < 0.05)
    for (let i = 0; i < 30; i++) {
      await cancel(session, some(), null)
      await retryEnded(session, some())
      for (const id of some()) await wake(session, id, 'go', '1')
      await enqueue(
        session,
        jobs.filter(() => random() < 0.1),
      )
    }
    peopleAtWork--
  }
  await Promise.all([worker(1), worker(2), worker(3), worker(4), maintenance(), maintenance(), people(), people()])

  const { findings } = await audit(bundle.db)
  expect(findings.filter(({ severity }) => severity === 'violation')).toEqual([])
  const [stats] = await bundle.sql<{ deadlocks: number }>(
    `select deadlocks from pg_stat_database where datname = current_database()`,
  )
  expect(stats).toEqual({ deadlocks: 0 })
  expect(await bundle.sql('select 1 from fencepost.job')).toHaveLength(jobCount)
})
