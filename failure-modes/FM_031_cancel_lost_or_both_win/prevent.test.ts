import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type JobContext, task } from '../../src/index.js'
import { cancel } from '../../src/store/control.js'
import type { Database } from '../../src/store/database.js'
import { type Lease, loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { untilBlocked } from '../../test/harness/blocked.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'
import { cancelRun } from '../../src/store/runs.js'
import { setupRunEnding } from '../../test/harness/run-ending.js'

it('FM_031: a request is kept on the lease and honoured; whichever of cancel and completion comes first stays', async () => {
  const { prevent } = await bundleUnderTest('FM_031')

  const played = await prevent()

  expect(noteOf(played, 'operator', 'cancels the first')).toBe('requested')
  expect(noteOf(played, 'D', 'takes leases back')).toContain('lease 1 cancelled')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'operator', 'cancels the second, which ran a moment ago')).toBe('it has succeeded')
  expect(noteOf(played, 'operator', 'cancels the third')).toBe('cancelled')
  expect(noteOf(played, 'C', 'wakes up and commits')).toBe('stale, rolled back')
  expect(played.violations).toEqual([])
})

/** Every way in which a worker that has heard nothing can let go of its job, but finish it. */
const waysOut: [string, (db: Database, lease: Lease) => Promise<unknown>][] = [
  ['fails', (db, lease) => fail(db, [{ ...lease, errorText: '1', delayMs: 60_000, final: false }])],
  ['is shut down', (db, lease) => release(db, [lease], 'shutdown')],
  ['parks its job', (db, lease) => park(db, lease, 'approval', null)],
  ['is lost', (db) => loseExpired(db)],
]

it.each(waysOut)('FM_031: a worker that hears nothing and then %s ends its job as cancelled', async (_, letGo) => {
  const { db, add, take, advance, see, placesOf } = await setup()
  const id = await add()
  const lease = await take()
  expect(await cancel(db, [id], 'no longer wanted')).toMatchObject([{ answer: 'requested' }])
  await advance(31_000)

  await letGo(db, lease)

  expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(id)).toMatchObject({ outcome: 'cancelled', reason: 'no longer wanted' })
  expect(await audit(db)).toMatchObject({ ok: true })
})

it('FM_031: a cancel that meets a completion in flight waits for it, and tells that it came too late', async () => {
  const bundle = await setup()
  const { add, take, see, sql } = bundle
  const id = await add()
  const lease = await take()
  const [worker, operator] = [await Session.open(bundle), await Session.open(bundle)]
  await worker.begin()
  await finish(worker, [{ ...lease, resultText: '1' }])

  const told = cancel(operator, [id], null)
  await untilBlocked(sql, operator.pid, told)
  await worker.commit()

  expect(await told).toMatchObject([{ answer: 'finished', outcome: 'succeeded' }])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', reason: null })
})

it('FM_031: a completion that meets a cancel in flight waits for it, and wins: nobody was told more than requested', async () => {
  const bundle = await setup()
  const { add, take, see, sql } = bundle
  const id = await add()
  const lease = await take()
  const [worker, operator] = [await Session.open(bundle), await Session.open(bundle)]
  await operator.begin()
  expect(await cancel(operator, [id], null)).toMatchObject([{ answer: 'requested' }])

  const finished = finish(worker, [{ ...lease, resultText: '1' }])
  await untilBlocked(sql, worker.pid, finished)
  await operator.commit()

  expect(await finished).toMatchObject([{ answer: 'finished', outcome: 'succeeded' }])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', reason: 'cancel_came_too_late' })
})

/** A worker whose handler is held up before its commit. */
async function setupRunning() {
  const bundle = await setupWorker()
  await bundle.sql('create table effect (job_id uuid)')
  const gate = door()
  const endings: unknown[] = []
  const commit = (job: JobContext) =>
    job.commit((tx) => tx.query('insert into effect values ($1)', [job.id]).then(() => 'charged'))
  const charge = task('charge', {
    input: anything,
    async run(_, job) {
      await gate.pass()
      endings.push(
        await commit(job).then(
          () => 'committed',
          (error: { code: string }) => error.code,
        ),
      )
    },
  })
  await bundle.fp.work([charge], { poll: '20ms' })
  const reached = gate.reached()
  const job = await bundle.fp.enqueue(charge, null)
  await reached
  return { ...bundle, job, gate, endings, effects: () => bundle.sql('select job_id from effect') }
}

it('FM_031: a worker that comes back after its job was cancelled rolls back, and the job stays cancelled', async () => {
  const { fp, db, job, gate, endings, effects, loseAll, see } = await setupRunning()
  expect(await fp.cancel(job.id)).toMatchObject({ answer: 'requested' })
  await loseAll()
  expect(await see(job.id)).toMatchObject({ outcome: 'cancelled' })

  gate.open()
  await expect.poll(() => endings).toEqual(['FP_LEASE_LOST'])

  expect(await effects()).toEqual([])
  expect(await see(job.id)).toMatchObject({ outcome: 'cancelled' })
  expect(await audit(db)).toMatchObject({ ok: true })
})

it('FM_031: a cancel that comes after a worker’s commit changes nothing, and says so', async () => {
  const { fp, db, job, gate, endings, effects, see } = await setupRunning()
  gate.open()
  expect(await job.result({ timeout: '10s' })).toBe('charged')

  expect(await fp.cancel(job.id)).toMatchObject({ answer: 'finished', outcome: 'succeeded' })

  await expect.poll(() => endings).toEqual(['committed'])
  expect(await effects()).toEqual([{ job_id: job.id }])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', reason: null })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it.each(['dispatches', 'ends'] as const)(
  'FM_031: an advance that %s and was decided before the cancel of its run is void: nothing begins after the answer',
  async (what) => {
    const { db, run, hand, stateOf, finishCancel, made } = await setupRunEnding(what)

    expect(await cancelRun(db, run, 'cancel_running', undefined)).toMatchObject({ answer: 'cancelling' })
    expect(await hand.advance()).toBe('conflict')

    expect(await made()).toBe(0)
    await finishCancel()
    expect(await stateOf(run)).toMatchObject({ state: 'cancelled' })
  },
)

it.each(['dispatches', 'ends'] as const)(
  'FM_031: an advance that %s and meets the cancel of its run in flight does not wait, and is void',
  async (what) => {
    const world = await setupRunEnding(what)
    const { run, hand, stateOf, finishCancel, made } = world
    const operator = await Session.open(world)
    await operator.begin()
    expect(await cancelRun(operator, run, 'cancel_running', undefined)).toMatchObject({ answer: 'cancelling' })

    expect(await hand.advance()).toBe('locked')
    await operator.commit()
    expect(await hand.advance()).toBe('conflict')

    expect(await made()).toBe(0)
    await finishCancel()
    expect(await stateOf(run)).toMatchObject({ state: 'cancelled' })
  },
)

it('FM_031: the cancel of a run that meets its end in flight waits for it, and tells that it came too late', async () => {
  const world = await setupRunEnding('ends')
  const { run, hand, session, stateOf, sql } = world
  const operator = await Session.open(world)
  await session.begin()
  expect(await hand.advance()).toBe('advanced')

  const told = cancelRun(operator, run, 'cancel_running', undefined)
  await untilBlocked(sql, operator.pid, told)
  await session.commit()

  expect(await told).toEqual({ answer: 'ended', state: 'succeeded' })
  expect(await stateOf(run)).toEqual({ state: 'succeeded', code: null, message: null })
})

it('FM_031: the cancel of a run that meets a dispatch in flight waits for it, and what was dispatched does not run', async () => {
  const world = await setupRunEnding('dispatches')
  const { run, hand, session, stateOf, sql, finishCancel, made } = world
  const operator = await Session.open(world)
  await session.begin()
  expect(await hand.advance()).toBe('advanced')

  const told = cancelRun(operator, run, 'cancel_running', undefined)
  await untilBlocked(sql, operator.pid, told)
  await session.commit()

  expect(await told).toEqual({ answer: 'cancelling', state: 'cancelling' })
  await finishCancel()
  expect(await stateOf(run)).toMatchObject({ state: 'cancelled' })
  expect(await made()).toBe(1)
  expect(await sql(`select outcome, tries from fencepost.jobs where run_task = 'after'`)).toEqual([
    { outcome: 'cancelled', tries: 0 },
  ])
})
